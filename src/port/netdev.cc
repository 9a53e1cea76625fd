#include "port/netdev.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "net/ethernet.h"
#include "port/gather.h"
#include "port/netlink.h"
#include "port/transmit_tally.h"
#include "port/vlan_tag.h"
#include "port/vnet_header.h"

namespace heddle::port {
namespace {

using packet::DropReason;

/// Bytes of frames that wait in the kernel, with their overhead: about 180 superframes or 20,000
/// small frames. The kernel doubles the value (socket(7)).
constexpr int kReceiveBuffer = 8 << 20;
constexpr int kSendBuffer = 8 << 20;

constexpr unsigned kMessages = ReceiveArena::kSlots;

/// Bytes to receive at once: a quarter of an L2 cache, as for taps. recvmmsg() takes no such limit,
/// so the number of messages follows from how large they were the last time.
constexpr uint64_t kReceiveBytes = 256 * 1024;
constexpr unsigned kFewestMessages = 4;

constexpr uint16_t kVlanBytes = sizeof(net::VlanTag);

template <typename Value>
Result<void> set_option(int socket, int level, int option, const char* name, const Value& value) {
    if (setsockopt(socket, level, option, &value, sizeof(value)) == 0) return {};
    return tl::unexpected(fmt::format("the kernel refuses {}: {}", name, error_text()));
}

/// A packet socket that is not bound yet and receives nothing.
Result<FileDescriptor> open_socket() {
    FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
        return tl::unexpected("cannot open a packet socket (it takes CAP_NET_RAW): " +
                              error_text());
    }
    const int fd = socket.get();
    Result<void> done;
    const auto set = [&](int level, int option, const char* name, int value) {
        if (done) done = set_option(fd, level, option, name, value);
    };
    set(SOL_PACKET, PACKET_VNET_HDR, "PACKET_VNET_HDR", 1);
    set(SOL_PACKET, PACKET_AUXDATA, "PACKET_AUXDATA", 1);
    set(SOL_PACKET, PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING", 1);
    set(SOL_PACKET, PACKET_QDISC_BYPASS, "PACKET_QDISC_BYPASS", 1);
    set(SOL_SOCKET, SO_RCVBUFFORCE, "SO_RCVBUFFORCE (it takes CAP_NET_ADMIN)", kReceiveBuffer);
    set(SOL_SOCKET, SO_SNDBUFFORCE, "SO_SNDBUFFORCE", kSendBuffer);
    if (!done) return tl::unexpected(done.error());
    return socket;
}

/// From here on the socket receives. Promiscuous: containers have MAC addresses of their own.
Result<void> bind_to(int socket, int index) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = index;
    if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        return tl::unexpected("cannot bind the packet socket: " + error_text());
    }
    packet_mreq promiscuous{};
    promiscuous.mr_ifindex = index;
    promiscuous.mr_type = PACKET_MR_PROMISC;
    return set_option(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, "promiscuous mode", promiscuous);
}

/// Spreads flows over the sockets by a symmetric hash that leaves the ports of fragments out, so
/// that both directions of a flow and all fragments of a datagram meet in one queue. The kernel
/// picks a group id that no other process uses.
Result<void> fan_out(std::span<const int> sockets) {
    // The group has one protocol hook, to which the members' own PACKET_IGNORE_OUTGOING is nothing.
    constexpr int kIgnoreOutgoing = 0x4000;  // PACKET_FANOUT_FLAG_IGNORE_OUTGOING
    constexpr int kHash = PACKET_FANOUT_HASH | kIgnoreOutgoing;
    int group = 0;  // also a group's id
    for (const int socket : sockets) {
        const bool first = socket == sockets.front();
        const int mode = first ? kHash | PACKET_FANOUT_FLAG_UNIQUEID : kHash;
        const int join = group | mode << 16;
        if (auto done = set_option(socket, SOL_PACKET, PACKET_FANOUT, "PACKET_FANOUT", join);
            !done) {
            return done;
        }
        socklen_t size = sizeof(group);
        if (getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, &size) != 0) {
            return tl::unexpected("cannot read the fanout group: " + error_text());
        }
        group &= 0xffff;
    }
    return {};
}

/// VIRTIO_NET_HDR_GSO_UDP_L4 came with Linux 6.2, and packet sockets cannot be asked.
bool kernel_knows_uso() {
    utsname system;
    if (uname(&system) != 0) return false;
    char* end = system.release;
    const unsigned long major = std::strtoul(end, &end, 10);
    const unsigned long minor = *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
    return major > 6 || (major == 6 && minor >= 2);
}

uint16_t port_mtu(uint32_t mtu) {
    return static_cast<uint16_t>(std::min<uint32_t>(mtu, Capabilities().max_mtu));
}

/// Why the interface cannot become a port.
Result<void> check_usable(Netlink& netlink, const Link& link) {
    const auto failed = [](const std::string& why) { return tl::unexpected(why); };
    if (!link.ethernet) return failed("it is no Ethernet interface");
    if (link.master != 0) {
        const auto master = netlink.find(link.master);
        return failed(fmt::format("it belongs to {}; take it out first: ip link set {} nomaster",
                                  master && *master ? (*master)->name : "another interface",
                                  link.name));
    }
    const auto addresses = netlink.addresses(link.index);
    if (!addresses) return failed("cannot read its addresses: " + addresses.error());
    for (const net::IpPrefix& address : *addresses) {
        if (address.is_v6() && address.address().is_link_local()) continue;
        return failed(
            fmt::format("the host uses it: it has the address {0}, which would become "
                        "unreachable; remove it first: ip address delete {0} dev {1}",
                        address.to_string(), link.name));
    }
    return {};
}

StrippedTag stripped_tag(msghdr& message) noexcept {
    const cmsghdr* control = CMSG_FIRSTHDR(&message);
    if (control == nullptr || control->cmsg_level != SOL_PACKET ||
        control->cmsg_type != PACKET_AUXDATA) {
        return {};
    }
    tpacket_auxdata data;
    std::memcpy(&data, CMSG_DATA(control), sizeof(data));
    if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0) return {};
    const bool has_tpid = (data.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    return {.tpid = has_tpid ? data.tp_vlan_tpid : net::ethertype::kVlan, .tci = data.tp_vlan_tci};
}

}  // namespace

/// What recvmmsg() fills.
struct Netdev::Batch {
    std::array<mmsghdr, kMessages> messages;
    std::array<std::array<iovec, 3>, kMessages> buffers;
    std::array<VnetHeader, kMessages> headers;
    struct alignas(cmsghdr) Control {
        std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> bytes;
    };
    std::array<Control, kMessages> controls;
};

Result<std::unique_ptr<Netdev>> Netdev::open(const NetdevConfig& config) {
    const auto failed = [&config](const std::string& why) {
        return tl::unexpected(fmt::format("netdev {}: {}", config.interface, why));
    };
    if (config.queues == 0) return failed("it needs at least one queue");
    auto netlink = Netlink::open();
    if (!netlink) return failed(netlink.error());
    const auto found = netlink->find(config.interface);
    if (!found) return failed("cannot look for it: " + found.error());
    if (!*found) return failed("there is no such interface");
    const Link& link = **found;
    if (auto usable = check_usable(*netlink, link); !usable) return failed(usable.error());

    std::unique_ptr<Netdev> port(new Netdev(config.interface, link.index));
    auto filter = HostStackFilter::attach(link.index);
    if (!filter) return failed(filter.error());
    port->filter_ = std::move(*filter);
    if (config.mtu && *config.mtu != link.mtu) {
        if (auto done = port->set_mtu(*config.mtu); !done) return tl::unexpected(done.error());
    } else {
        port->mtu_ = port_mtu(link.mtu);
    }
    if (!link.up()) {
        if (auto done = netlink->change(link.index, {.up = true}); !done) {
            return failed("cannot set it up: " + done.error());
        }
    }
    std::vector<int> sockets;
    for (uint16_t i = 0; i < config.queues; ++i) {
        auto socket = open_socket();
        if (!socket) return failed(socket.error());
        if (auto done = bind_to(socket->get(), link.index); !done) return failed(done.error());
        sockets.push_back(socket->get());
        port->queues_.push_back({.socket = std::move(*socket), .batch = kMessages});
    }
    if (config.queues > 1) {
        if (auto done = fan_out(sockets); !done) return failed(done.error());
    }
    const bool uso = kernel_knows_uso();
    port->capabilities_ = {
        .l4_checksum = true, .tso4 = true, .tso6 = true, .uso4 = uso, .uso6 = uso};
    port->refresh();
    return port;
}

uint16_t Netdev::receive(uint16_t queue, IoContext& io, std::span<rte_mbuf*> frames) noexcept {
    Queue& own = queues_[queue];
    uint64_t bytes = 0;
    uint64_t messages = 0;
    uint16_t received = 0;
    Batch batch;
    while (received < frames.size() && bytes < kReceiveBytes) {
        const unsigned wanted = std::min<unsigned>(own.batch, frames.size() - received);
        const unsigned ready = io.arena.prepare(wanted);
        const unsigned count = receive_batch(own.socket.get(), io, batch, ready);
        messages += count;
        for (unsigned i = 0; i < count; ++i) {
            msghdr& message = batch.messages[i].msg_hdr;
            const size_t length = batch.messages[i].msg_len - sizeof(VnetHeader);
            bytes += length;
            if (length < sizeof(net::EthernetHeader)) {
                io.counters.drop(DropReason::rx_runt);
                continue;
            }
            if ((message.msg_flags & MSG_TRUNC) != 0) {
                io.counters.drop(DropReason::rx_oversize);
                continue;
            }
            rte_mbuf* frame = io.arena.take(i, length);
            const StrippedTag tag = stripped_tag(message);
            if (tag.tpid != 0) insert_tag(frame, tag);
            const uint16_t inserted = tag.tpid != 0 ? kVlanBytes : 0;
            if (const auto taken = from_vnet_header(batch.headers[i], frame, inserted); !taken) {
                io.counters.drop(taken.error());
                rte_pktmbuf_free(frame);
                continue;
            }
            frames[received++] = frame;
        }
        if (count < wanted) break;
    }
    if (messages == 0) return 0;
    own.batch = static_cast<unsigned>(
        std::clamp<uint64_t>(kReceiveBytes * messages / bytes, kFewestMessages, kMessages));
    io.counters.rx_frames.add(messages);
    io.counters.rx_bytes.add(bytes);
    set_link(true);  // a device that sends is up
    return received;
}

/// recvmmsg() into the first `ready` slots of the arena; how many were filled.
unsigned Netdev::receive_batch(int socket, IoContext& io, Batch& batch, unsigned ready) noexcept {
    for (unsigned i = 0; i < ready; ++i) {
        const auto slot = io.arena.buffers(i);
        batch.buffers[i] = {iovec{&batch.headers[i], sizeof(VnetHeader)}, slot[0], slot[1]};
        batch.messages[i].msg_hdr = {.msg_name = nullptr,
                                     .msg_namelen = 0,
                                     .msg_iov = batch.buffers[i].data(),
                                     .msg_iovlen = batch.buffers[i].size(),
                                     .msg_control = &batch.controls[i],
                                     .msg_controllen = sizeof(batch.controls[i]),
                                     .msg_flags = 0};
    }
    const int count = recvmmsg(socket, batch.messages.data(), ready, MSG_DONTWAIT, nullptr);
    if (count >= 0) return static_cast<unsigned>(count);
    switch (errno) {
        case EINVAL:  // packet_rcv_vnet: a kind of superframe that virtio cannot say; it is gone
            io.counters.rx_frames.add(1);
            io.counters.drop(DropReason::bad_vnet_header);
            break;
        case ENETDOWN:
        case ENODEV:
        case ENXIO:
            on_device_error();
            break;
        default:
            break;
    }
    return 0;
}

void Netdev::transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept {
    const int socket = queues_[io.worker % queues_.size()].socket.get();
    std::array<mmsghdr, kBurst> messages;
    std::array<VnetHeader, kBurst> headers;
    std::array<iovec, 2 * kMaxSegments> pieces;
    TransmitTally sent;
    while (!frames.empty()) {
        // As many frames as there are iovecs for.
        size_t count = 0;
        size_t used = 0;
        while (count < std::min(frames.size(), messages.size())) {
            const auto room = std::span(pieces).subspan(used);
            const unsigned taken = gather(frames[count], headers[count], room);
            if (taken == 0) break;
            messages[count].msg_hdr = {.msg_name = nullptr,
                                       .msg_namelen = 0,
                                       .msg_iov = room.data(),
                                       .msg_iovlen = taken,
                                       .msg_control = nullptr,
                                       .msg_controllen = 0,
                                       .msg_flags = 0};
            used += taken;
            ++count;
        }
        if (count == 0) {  // too many segments
            io.counters.drop(DropReason::tx_error);
            rte_pktmbuf_free(frames[0]);
            frames = frames.subspan(1);
            continue;
        }
        for (size_t done = 0; done < count;) {
            const int status = up() ? sendmmsg(socket, &messages[done],
                                               static_cast<unsigned>(count - done), MSG_DONTWAIT)
                                    : -1;
            if (status > 0) {
                for (int i = 0; i < status; ++i)
                    sent.add(frames[done++]);
            } else {
                io.counters.drop(up() ? on_transmit_error(errno) : DropReason::port_down);
                ++done;
            }
        }
        for (size_t i = 0; i < count; ++i)
            rte_pktmbuf_free(frames[i]);
        frames = frames.subspan(count);
    }
    sent.count(io.counters);
}

/// af_packet.c, packet_snd().
DropReason Netdev::on_transmit_error(int error) noexcept {
    switch (error) {
        case ENETDOWN:
        case ENXIO:
        case ENODEV:
            on_device_error();
            return DropReason::port_down;
        case EMSGSIZE:
            return DropReason::tx_mtu;
        default:
            return transmit_drop_reason(error);
    }
}

/// A socket whose interface was set down works again once that is up; one whose interface was
/// removed, or moved to another namespace, is bound to index -1 (packet_notifier).
void Netdev::on_device_error() noexcept {
    sockaddr_ll address{};
    socklen_t size = sizeof(address);
    if (getsockname(queues_[0].socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
        address.sll_ifindex == index_) {
        set_link(false);
    } else {
        fail(ENODEV);
    }
}

void Netdev::refresh() noexcept {
    if (failed()) return;
    const int socket = queues_[0].socket.get();
    ifreq request{};
    request.ifr_ifindex = index_;
    if (ioctl(socket, SIOCGIFNAME, &request) != 0) {
        on_device_error();
        return;
    }
    // Up with a carrier. IFF_RUNNING says the same, but up to a second late (linkwatch).
    ethtool_value link{.cmd = ETHTOOL_GLINK, .data = 0};
    request.ifr_data = reinterpret_cast<char*>(&link);
    if (ioctl(socket, SIOCETHTOOL, &request) == 0) {
        set_link(link.data != 0);
    } else if (ioctl(socket, SIOCGIFFLAGS, &request) == 0) {  // a driver that cannot tell
        set_link((request.ifr_flags & IFF_UP) != 0);
    } else {
        on_device_error();
    }
}

std::string Netdev::down_reason() const {
    if (up()) return {};
    if (failed()) return fmt::format("interface {} was removed", interface_);
    return fmt::format("interface {} or its peer is set down", interface_);
}

uint64_t Netdev::rx_missed() noexcept {
    for (const Queue& queue : queues_) {
        tpacket_stats statistics{};
        socklen_t size = sizeof(statistics);
        if (getsockopt(queue.socket.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size) ==
            0) {
            rx_missed_ += statistics.tp_drops;  // since the last call
        }
    }
    return rx_missed_;
}

Result<void> Netdev::set_mtu(uint16_t mtu) {
    Result<void> done;
    if (auto netlink = Netlink::open()) {
        done = netlink->change(index_, {.mtu = mtu});
    } else {
        done = tl::unexpected(netlink.error());
    }
    if (!done) {
        return tl::unexpected(
            fmt::format("netdev {}: cannot set the MTU {}: {}", interface_, mtu, done.error()));
    }
    mtu_ = mtu;
    return {};
}

}  // namespace heddle::port
