#pragma once

#include <utility>

#include "port/result.h"

namespace heddle::port {

/// Keeps the host's own stack away from an interface: a tc filter on clsact that drops whatever
/// comes in (ARP, IP forwarding, IPv6 neighbour discovery ... would otherwise answer beside Heddle)
/// and whatever the host means to send (multicast reports, DHCP clients, LLDP daemons). Packet
/// sockets are served before the one (net/core/dev.c, __netif_receive_skb_core) and, with
/// PACKET_QDISC_BYPASS, do not pass the other (af_packet.c, packet_xmit).
///
/// Filters and qdiscs of others stay as they are. Should the daemon die, the filter stays: the
/// interface is still Heddle's, and the next one to open it takes the filter over.
class HostStackFilter {
 public:
    HostStackFilter() = default;  ///< no interface
    static Result<HostStackFilter> attach(int interface_index);

    HostStackFilter(HostStackFilter&& other) noexcept
        : index_(std::exchange(other.index_, 0)), made_clsact_(other.made_clsact_) {}
    HostStackFilter& operator=(HostStackFilter&& other) noexcept {
        std::swap(index_, other.index_);
        std::swap(made_clsact_, other.made_clsact_);
        return *this;
    }
    ~HostStackFilter();

 private:
    int index_ = 0;
    bool made_clsact_ = false;
};

}  // namespace heddle::port
