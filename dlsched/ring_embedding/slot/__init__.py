"""One slot: which jobs run, with how many workers on which servers, and the ring of each."""
