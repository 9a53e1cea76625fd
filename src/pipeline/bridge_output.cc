#include "pipeline/bridge_output.h"

#include "net/ethernet.h"
#include "packet/frame.h"
#include "packet/replicate.h"
#include "packet/segment.h"
#include "pipeline/classify.h"

namespace heddle::pipeline {

using forwarding::Bridge;
using forwarding::BridgePort;
using forwarding::BridgePortId;
using packet::DropReason;

void send_tagged(Context& context, const BridgePort& to, rte_mbuf* frame) noexcept {
    rte_mbuf* writable = packet::ensure_headroom(frame, sizeof(net::VlanTag), context.pools);
    if (writable == nullptr) {
        drop(context, to.port, DropReason::tx_no_buffer, frame);
        return;
    }
    push_vlan(writable, to.vlan);
    context.egress.enqueue(to.port, writable);
}

void flood(Context& context, const Bridge& bridge, BridgePortId from_id, rte_mbuf* frame) noexcept {
    const packet::Metadata& meta = packet::metadata(frame);
    const forwarding::PortId ingress = meta.ingress_port;
    if (!meta.originated &&
        !context.tables.storm_limit(ingress).admit(context.now, packet::segment_count(frame))) {
        drop(context, ingress, DropReason::storm_limit, frame);
        return;
    }
    const bool isolated = context.tables.bridge_port(from_id).isolated;
    // The last destination gets the frame itself: each one found sends a copy to the one before.
    BridgePort last;
    uint64_t copies = 0;
    for (const BridgePortId id : bridge.flood) {
        if (id == from_id) continue;
        const BridgePort to = context.tables.bridge_port(id);
        if (to.bridge != bridge.id || (isolated && to.isolated)) continue;
        if (last.port != forwarding::kNoPort) {
            ++copies;
            if (rte_mbuf* copy = packet::replicate(context.pools, frame)) {
                send(context, last, copy);
            } else {
                context.tables.counters(last.port, context.worker).drop(DropReason::tx_no_buffer);
            }
        }
        last = to;
    }
    if (last.port == forwarding::kNoPort && meta.originated) {
        // Nobody is there to hear an announcement: that is no loss.
        context.tables.counters(ingress, context.worker).consumed.add(1);
        rte_pktmbuf_free(frame);
        return;
    }
    if (last.port == forwarding::kNoPort) {
        drop(context, ingress, DropReason::no_destination, frame);
        return;
    }
    if (copies != 0) context.tables.counters(ingress, context.worker).replicated.add(copies);
    send(context, last, frame);
}

}  // namespace heddle::pipeline
