#include "port/tap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <array>
#include <cstring>

#include "net/ethernet.h"
#include "port/gather.h"
#include "port/netlink.h"
#include "port/transmit_tally.h"
#include "port/vnet_header.h"

namespace heddle::port {
namespace {

using packet::DropReason;

// Linux 6.2; Debian 12's headers are of 6.1.
constexpr unsigned kTunFUso4 = 0x20;
constexpr unsigned kTunFUso6 = 0x40;

/// Length of the ring in which frames wait for read(). There is no back-pressure: with the default
/// of 1000 a burst of small frames overruns it while a worker is busy with other ports.
constexpr uint32_t kTxQueueLength = 4096;

/// Bytes per receive call: a quarter of an L2 cache, so that frames are still in it when they are
/// sent. CPU seconds per GB over two taps: 0.51 to 0.55 with 64 to 512 KB, 0.66 with 2 MB.
constexpr uint32_t kReceiveBytes = 256 * 1024;

/// A device with IFF_MULTI_QUEUE has 256 queues, each with a queueing discipline: 30 MB and 40 ms
/// per tap, against 0.6 MB and 2 ms without. So only who asks for several queues pays for them.
short tun_flags(uint16_t queues) {
    return static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR |
                              (queues > 1 ? IFF_MULTI_QUEUE : 0));
}

ifreq request(const std::string& name) {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    return request;
}

/// One queue of the tap `name`, in the namespace of the calling thread. "%d" in the name becomes
/// the first free number, and `name` the whole one.
Result<FileDescriptor> open_queue(std::string& name, short flags) {
    FileDescriptor queue(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!queue) return tl::unexpected("cannot open /dev/net/tun: " + error_text());
    ifreq attach = request(name);
    attach.ifr_flags = flags;
    if (ioctl(queue.get(), TUNSETIFF, &attach) != 0) return tl::unexpected(error_text());
    name = attach.ifr_name;
    return queue;
}

/// The name the device has now; its owner may have renamed it.
std::string current_name(int queue) {
    ifreq answer{};
    if (ioctl(queue, TUNGETIFF, &answer) != 0) return {};
    return answer.ifr_name;
}

struct Device {
    Netlink netlink;
    Link link;
};

/// The device where it is now: the namespace's path may lead elsewhere by now, or the container may
/// have moved or renamed it.
Result<Device> locate(int queue) {
    FileDescriptor file(ioctl(queue, TUNGETDEVNETNS));
    if (!file) return tl::unexpected(error_text());
    auto netlink = Netlink::open(NetworkNamespace(std::move(file)));
    if (!netlink) return tl::unexpected(netlink.error());
    auto link = netlink->find(current_name(queue));
    if (!link) return tl::unexpected(link.error());
    if (!*link) return tl::unexpected(error_text(ENODEV));
    return Device{std::move(*netlink), **link};
}

/// Everything the container will find set on its interface.
Result<void> configure(Netlink& netlink, int index, const TapConfig& config) {
    const auto failed = [](const std::string& what, const std::string& why) {
        return tl::unexpected(fmt::format("cannot set {}: {}", what, why));
    };
    // The kernel refuses a new address while the device is up and IPv6 would see the old one.
    if (config.mac) {
        if (auto done = netlink.change(index, {.mac = config.mac}); !done) {
            return failed("the MAC address " + config.mac->to_string(), done.error());
        }
    }
    if (auto done = netlink.change(index, {.mtu = config.mtu, .tx_queue_length = kTxQueueLength});
        !done) {
        return failed(fmt::format("the MTU {}", config.mtu), done.error());
    }
    if (auto done = netlink.change(index, {.up = true}); !done) {
        return failed("the interface up", done.error());
    }
    for (const net::IpPrefix& address : config.addresses) {
        if (auto done = netlink.add_address(index, address); !done) {
            return failed("the address " + address.to_string(), done.error());
        }
    }
    for (const net::IpAddress& gateway : config.gateways) {
        if (auto done = netlink.add_default_route(index, gateway); !done) {
            return failed("the default route via " + gateway.to_string(), done.error());
        }
    }
    return {};
}

std::string place(const std::string& interface, const std::string& namespace_name) {
    if (namespace_name.empty()) return "interface " + interface;
    return fmt::format("interface {} in namespace {}", interface, namespace_name);
}

}  // namespace

Result<std::unique_ptr<Tap>> Tap::open(const TapConfig& config) {
    const std::string what = "tap " + place(config.interface, config.network_namespace);
    const auto failed = [&what](const std::string& why) {
        return tl::unexpected(what + ": " + why);
    };
    if (config.interface.empty() || config.interface.size() >= IFNAMSIZ) {
        return failed("the name must have 1 to 15 characters");
    }
    if (config.queues == 0) return failed("it needs at least one queue");

    auto where = NetworkNamespace::open(config.network_namespace);
    if (!where) return failed(where.error());
    auto netlink = Netlink::open(*where);
    if (!netlink) return failed(netlink.error());
    auto existing = netlink->find(config.interface);
    if (!existing) return failed("cannot look for it: " + existing.error());

    std::unique_ptr<Tap> tap(new Tap(config));
    if (*existing) {
        // Only a persistent port has a device to come back to; any other is somebody else's.
        // Without a reader a tap has no carrier. With one, a second reader would take half its
        // frames.
        if ((*existing)->kind != "tun" || (*existing)->carrier || !config.persistent) {
            return failed(
                config.persistent
                    ? "the name is taken by an interface in use; choose another or delete it"
                    : "the name is taken by another interface; choose another or delete it");
        }
        if (auto done = tap->take_over(config, *where); !done) return failed(done.error());
    } else {
        if (auto done = tap->create(config, *where); !done) return failed(done.error());
    }
    auto device = locate(tap->queues_[0].get());
    if (!device) return failed("cannot find it after making it: " + device.error());
    if (auto done = configure(device->netlink, device->link.index, config); !done) {
        return failed(done.error());
    }
    // Last, so that an attempt that failed leaves nothing behind.
    if (ioctl(tap->queues_[0].get(), TUNSETPERSIST, config.persistent ? 1 : 0) != 0) {
        return failed("cannot make it persistent: " + error_text());
    }
    tap->refresh();
    return tap;
}

/// A tap belongs to the namespace in which /dev/net/tun was opened, and the open file keeps that
/// namespace alive. So a new device is made in our own namespace and moved: then deleting the
/// container's namespace deletes the device, too (tun.c, tun_chr_open; net/core/dev.c,
/// default_device_exit_batch). Its name until then is one that no other interface has.
Result<void> Tap::create(const TapConfig& config, const NetworkNamespace& where) {
    const bool moves = !config.network_namespace.empty();
    std::string name = moves ? "heddle%d" : config.interface;
    for (uint16_t i = 0; i < config.queues; ++i) {
        auto queue = open_queue(name, tun_flags(config.queues));
        if (!queue) return tl::unexpected("cannot create it: " + queue.error());
        queues_.push_back(std::move(*queue));
    }
    if (auto done = negotiate(); !done) return done;
    if (!moves) return {};

    auto device = locate(queues_[0].get());
    if (!device) return tl::unexpected(device.error());
    if (auto done = device->netlink.change(device->link.index,
                                           {.name = config.interface, .namespace_fd = where.fd()});
        !done) {
        return tl::unexpected("cannot move it there: " + done.error());
    }
    return {};
}

Result<void> Tap::take_over(const TapConfig& config, const NetworkNamespace& where) {
    watch_ = NamespaceWatch(config.network_namespace);
    for (uint16_t i = 0; i < config.queues; ++i) {
        std::string name = config.interface;
        auto queue = where.run([&] { return open_queue(name, tun_flags(config.queues)); });
        if (!queue) {
            return tl::unexpected(
                fmt::format("it exists and cannot be taken over ({}); delete it if it is not a tap "
                            "for {} queue{}",
                            queue.error(), config.queues, config.queues > 1 ? "s" : ""));
        }
        queues_.push_back(std::move(*queue));
    }
    return negotiate();
}

/// Agrees with the kernel on the header and on what it may leave undone for us.
Result<void> Tap::negotiate() {
    const int fd = queues_[0].get();  // these are properties of the device, not of a queue
    int header_size = sizeof(VnetHeader);
    if (ioctl(fd, TUNSETVNETHDRSZ, &header_size) != 0) {
        return tl::unexpected("the kernel refuses the vnet header: " + error_text());
    }
    constexpr unsigned kTcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    const bool udp = ioctl(fd, TUNSETOFFLOAD, kTcp | kTunFUso4 | kTunFUso6) == 0;
    if (!udp && ioctl(fd, TUNSETOFFLOAD, kTcp) != 0) {
        return tl::unexpected("the kernel refuses offloads: " + error_text());
    }
    // The same kernel versions that hand out UDP superframes accept them in write().
    capabilities_ = {.l4_checksum = true, .tso4 = true, .tso6 = true, .uso4 = udp, .uso6 = udp};
    return {};
}

uint16_t Tap::receive(uint16_t queue, IoContext& io, std::span<rte_mbuf*> frames) noexcept {
    const int fd = queues_[queue].get();
    packet::PortCounters& counters = io.counters;
    uint64_t reads = 0;
    uint64_t bytes = 0;
    uint16_t received = 0;
    for (; reads < frames.size() && bytes < kReceiveBytes; ++reads) {
        if (io.arena.prepare(1) == 0) break;  // frames wait in the kernel
        VnetHeader header;
        const auto buffers = io.arena.buffers(0);
        const std::array<iovec, 3> target{iovec{&header, sizeof(header)}, buffers[0], buffers[1]};
        const ssize_t length = readv(fd, target.data(), target.size());
        if (length < 0) {
            if (errno == EINVAL) {  // tun_put_user: a kind of superframe that virtio cannot say
                counters.drop(DropReason::bad_vnet_header);
                continue;
            }
            if (errno == EBADFD || errno == EFAULT) fail(errno);
            break;
        }
        const size_t frame_length = static_cast<size_t>(length) - sizeof(header);
        bytes += frame_length;
        if (frame_length < sizeof(net::EthernetHeader)) {
            counters.drop(DropReason::rx_runt);
            continue;
        }
        rte_mbuf* frame = io.arena.take(0, frame_length);
        if (const auto taken = from_vnet_header(header, frame); !taken) {
            counters.drop(taken.error());
            rte_pktmbuf_free(frame);
            continue;
        }
        frames[received++] = frame;
    }
    if (reads == 0) return 0;
    counters.rx_frames.add(reads);
    counters.rx_bytes.add(bytes);
    set_link(true);  // a device that sends is up
    return received;
}

void Tap::transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept {
    // With several queues the kernel notes which one a flow was written to and queues the answers
    // there (tun_flow_update): they come back to this worker if it has the queue of its number.
    const int fd = queues_[io.worker % queues_.size()].get();
    TransmitTally sent;
    for (rte_mbuf* frame : frames) {
        VnetHeader spare;
        std::array<iovec, kMaxSegments + 1> pieces;
        DropReason drop = DropReason::tx_error;
        if (!up()) {
            drop = DropReason::port_down;
        } else if (const unsigned count = gather(frame, spare, pieces); count != 0) {
            if (writev(fd, pieces.data(), static_cast<int>(count)) >= 0) {
                sent.add(frame);
                rte_pktmbuf_free(frame);
                continue;
            }
            drop = on_transmit_error(errno);
        }
        io.counters.drop(drop);
        rte_pktmbuf_free(frame);
    }
    sent.count(io.counters);
}

/// tun.c, tun_get_user().
DropReason Tap::on_transmit_error(int error) noexcept {
    switch (error) {
        case EIO:
            set_link(false);
            return DropReason::port_down;
        case EBADFD:
            fail(error);
            return DropReason::port_down;
        default:
            return transmit_drop_reason(error);
    }
}

/// tun_chr_poll(): POLLOUT while the interface is up, POLLERR once it is gone. One system call, and
/// none of it needs the namespace.
void Tap::refresh() noexcept {
    if (failed()) return;
    pollfd status{.fd = queues_[0].get(), .events = POLLOUT, .revents = 0};
    if (poll(&status, 1, 0) < 0) return;
    if ((status.revents & POLLERR) != 0 || watch_.gone()) {
        fail(EBADFD);
    } else {
        set_link((status.revents & POLLOUT) != 0);
    }
}

std::string Tap::down_reason() const {
    if (up()) return {};
    const std::string what = place(interface_, namespace_name_);
    if (!failed()) return what + " is set down";
    const auto where = NetworkNamespace::open(namespace_name_);
    if (!where || watch_.gone()) {
        return fmt::format("interface {} was removed together with namespace {}", interface_,
                           namespace_name_);
    }
    return what + " was removed";
}

uint64_t Tap::rx_missed() noexcept {
    // The kernel counts a frame that found the ring full as dropped while sending (tun_net_xmit).
    if (auto device = locate(queues_[0].get())) rx_missed_ = device->link.tx_dropped;
    return rx_missed_;
}

Result<void> Tap::set_mtu(uint16_t mtu) {
    auto device = locate(queues_[0].get());
    Result<void> done = device ? device->netlink.change(device->link.index, {.mtu = mtu})
                               : tl::unexpected(device.error());
    if (done) return {};
    return tl::unexpected(fmt::format("tap {}: cannot set the MTU {}: {}",
                                      place(interface_, namespace_name_), mtu, done.error()));
}

void Tap::discard() noexcept {
    ioctl(queues_[0].get(), TUNSETPERSIST, 0);
}

}  // namespace heddle::port
