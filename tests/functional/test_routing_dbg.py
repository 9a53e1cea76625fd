import pytest
from test_routing_mtu import test_port_with_a_smaller_mtu_than_its_network_counts_as_well as one
@pytest.mark.parametrize("n", range(40))
def test_x(site, n):
    one(site)
