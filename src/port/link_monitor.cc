#include "port/link_monitor.h"

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

namespace heddle::port {
namespace {

constexpr int kReceiveBuffer = 1 << 20;  // hundreds of containers may start at once

int collect(nl_msg* message, void* changes) {
    nlmsghdr* header = nlmsg_hdr(message);
    if (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK) return NL_SKIP;
    const nlattr* name = nlmsg_find_attr(header, sizeof(ifinfomsg), IFLA_IFNAME);
    if (name == nullptr) return NL_SKIP;
    const auto* link = static_cast<const ifinfomsg*>(nlmsg_data(header));
    // A bridge announces the loss of a member as RTM_DELLINK of that member, in its own family.
    if (link->ifi_family != AF_UNSPEC) return NL_SKIP;
    static_cast<LinkMonitor::Changes*>(changes)->events.push_back(
        {.interface = nla_get_string(name),
         .index = link->ifi_index,
         .removed = header->nlmsg_type == RTM_DELLINK});
    return NL_OK;
}

}  // namespace

void LinkMonitor::Free::operator()(nl_sock* socket) const noexcept {
    nl_socket_free(socket);
}

Result<LinkMonitor> LinkMonitor::open() {
    LinkMonitor monitor(nl_socket_alloc());
    nl_sock* socket = monitor.socket_.get();
    if (socket == nullptr) return tl::unexpected(error_text(ENOMEM));
    nl_socket_disable_seq_check(socket);  // notifications answer no request
    int status = nl_connect(socket, NETLINK_ROUTE);
    if (status == 0) status = nl_socket_set_buffer_size(socket, kReceiveBuffer, 0);
    if (status == 0) status = nl_socket_set_nonblocking(socket);
    if (status == 0) status = nl_socket_add_memberships(socket, RTNLGRP_LINK, 0);
    if (status < 0) {
        return tl::unexpected(std::string("cannot watch the network interfaces: ") +
                              nl_geterror(status));
    }
    return monitor;
}

int LinkMonitor::fd() const noexcept {
    return nl_socket_get_fd(socket_.get());
}

LinkMonitor::Changes LinkMonitor::drain() {
    Changes changes;
    nl_socket_modify_cb(socket_.get(), NL_CB_VALID, NL_CB_CUSTOM, collect, &changes);
    for (;;) {
        const int status = nl_recvmsgs_default(socket_.get());
        if (status == -NLE_AGAIN) return changes;
        if (status == 0 || status == -NLE_INTR) continue;
        // ENOBUFS, which libnl reports as "out of memory": the kernel dropped notifications.
        changes.lost = true;
        if (status != -NLE_NOMEM) return changes;
    }
}

}  // namespace heddle::port
