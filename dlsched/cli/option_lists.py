"""Options that take several values, expanded before the option parser, which does not support them."""


def spread(arguments: list[str]) -> list[str]:
    """Let ``--solutions A B C`` stand for ``--solutions A --solutions B --solutions C``."""
    spread_out: list[str] = []
    inside = False
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            inside = argument == "--solutions"
            if not inside:
                spread_out.append(argument)
        else:
            spread_out += ["--solutions", argument] if inside else [argument]
    return spread_out
