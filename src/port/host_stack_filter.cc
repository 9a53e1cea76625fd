#include "port/host_stack_filter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <netlink/netlink.h>
#include <netlink/route/classifier.h>

#include <array>
#include <memory>

#include "port/file_descriptor.h"

namespace heddle::port {
namespace {

/// Before the filters of others, and told from them by a handle nobody picks by accident.
constexpr uint32_t kPriority = 1;
constexpr uint32_t kHandle = 0x4865'646c;  // "Hedl"

constexpr std::array kHooks{BPF_TC_INGRESS, BPF_TC_EGRESS};

bpf_tc_hook hook_of(int index, bpf_tc_attach_point point) {
    bpf_tc_hook hook{};
    hook.sz = sizeof(hook);
    hook.ifindex = index;
    hook.attach_point = point;
    return hook;
}

bpf_tc_opts our_filter() {
    bpf_tc_opts filter{};
    filter.sz = sizeof(filter);
    filter.handle = kHandle;
    filter.priority = kPriority;
    return filter;
}

/// return TC_ACT_SHOT;
Result<FileDescriptor> load_program() {
    const std::array<bpf_insn, 2> program{
        bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K,
                 .dst_reg = BPF_REG_0,
                 .src_reg = 0,
                 .off = 0,
                 .imm = TC_ACT_SHOT},
        bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    FileDescriptor loaded(bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "heddle_drop", "BSD",
                                        program.data(), program.size(), nullptr));
    if (!loaded) {
        return tl::unexpected("cannot load a BPF program to keep the host's stack off it: " +
                              error_text());
    }
    return loaded;
}

/// True if it is certain that a clsact qdisc has no filters.
bool has_no_filters(int index) {
    const std::unique_ptr<nl_sock, decltype(&nl_socket_free)> socket(nl_socket_alloc(),
                                                                     nl_socket_free);
    if (socket == nullptr || nl_connect(socket.get(), NETLINK_ROUTE) < 0) return false;
    for (const uint32_t minor : {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS}) {
        nl_cache* filters = nullptr;
        if (rtnl_cls_alloc_cache(socket.get(), index, TC_H_MAKE(TC_H_CLSACT, minor), &filters) <
            0) {
            return false;
        }
        const bool empty = nl_cache_is_empty(filters) != 0;
        nl_cache_free(filters);
        if (!empty) return false;
    }
    return true;
}

}  // namespace

Result<HostStackFilter> HostStackFilter::attach(int interface_index) {
    // libbpf writes to stderr what it returns anyway, and "exists already" is no error here.
    libbpf_set_print(nullptr);
    const auto program = load_program();
    if (!program) return tl::unexpected(program.error());

    HostStackFilter attached;
    attached.index_ = interface_index;
    for (const bpf_tc_attach_point point : kHooks) {
        bpf_tc_hook hook = hook_of(interface_index, point);
        const int made = bpf_tc_hook_create(&hook);
        if (made == 0) attached.made_clsact_ = true;
        bpf_tc_opts filter = our_filter();
        filter.prog_fd = program->get();
        filter.flags = BPF_TC_F_REPLACE;
        const int error = made != 0 && made != -EEXIST ? made : bpf_tc_attach(&hook, &filter);
        if (error != 0) {
            return tl::unexpected("cannot keep the host's stack off it (tc clsact filter): " +
                                  error_text(-error));
        }
    }
    return attached;
}

HostStackFilter::~HostStackFilter() {
    if (index_ == 0) return;
    for (const bpf_tc_attach_point point : kHooks) {
        const bpf_tc_hook hook = hook_of(index_, point);
        const bpf_tc_opts filter = our_filter();
        bpf_tc_detach(&hook, &filter);
    }
    if (!made_clsact_ || !has_no_filters(index_)) return;
    bpf_tc_hook qdisc =
        hook_of(index_, static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS));
    bpf_tc_hook_destroy(&qdisc);
}

}  // namespace heddle::port
