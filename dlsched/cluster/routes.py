"""Routes between servers, for checkers: a plain search by names of nodes, which algorithms do not use."""

from collections.abc import Iterable

from dlsched.cluster.network import Link, Node, Path

Route = tuple[str, ...]


class Router:
    """Routes between servers: the listed paths, or the unique path of a forest."""

    def __init__(self, nodes: Iterable[Node], links: Iterable[Link], paths: Iterable[Path] | None) -> None:
        self.known: dict[tuple[str, str], Route | None] = {}
        self.above: dict[str, str | None] = {}
        for path in paths or ():
            self.known |= {path.ends: path.nodes, path.ends[::-1]: path.nodes[::-1]}
        if paths is None:
            self._climb(nodes, links)

    def _climb(self, nodes: Iterable[Node], links: Iterable[Link]) -> None:
        """Set ``above`` of every node; None at a tree's top."""
        neighbours: dict[str, list[str]] = {node.id: [] for node in nodes}
        for first, second in (link.ends for link in links):
            neighbours[first].append(second)
            neighbours[second].append(first)
        for top in neighbours:
            waiting: list[tuple[str, str | None]] = [] if top in self.above else [(top, None)]
            while waiting:
                here, above = waiting.pop()
                self.above[here] = above
                waiting += [(there, here) for there in neighbours[here] if there != above]

    def __call__(self, here: str, there: str) -> Route | None:
        """Return the nodes from one server to another, None without a route."""
        if self.above and (here, there) not in self.known:
            self.known[here, there] = self._through_the_tree(here, there)
        return self.known.get((here, there))

    def _through_the_tree(self, here: str, there: str) -> Route | None:
        up, down = self._to_the_top(here), self._to_the_top(there)
        if up[-1] != down[-1]:
            return None
        # Drop the common part above the meeting node, which stays last in both.
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return (*up, *reversed(down[:-1]))

    def _to_the_top(self, name: str) -> list[str]:
        path = [name]
        while (above := self.above[path[-1]]) is not None:
            path.append(above)
        return path
