"""One file per outside thing: the network, the bus, the clocks."""
