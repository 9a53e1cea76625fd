#include "control/rib.h"

#include <algorithm>

namespace heddle::control {

using forwarding::kNoNextHop;
using forwarding::NextHopId;

template <typename Address>
bool Rib<Address>::is_of(NextHopId id, NextHops::Source source, uint8_t distance) const {
    const NextHops::Info& info = next_hops_.info(id);
    return info.source == source && (source != route_source::kStatic || info.distance == distance);
}

template <typename Address>
bool Rib<Address>::better(NextHopId a, NextHopId b) const {
    const NextHops::Info& first = next_hops_.info(a);
    const NextHops::Info& second = next_hops_.info(b);
    return first.distance != second.distance ? first.distance < second.distance
                                             : first.source < second.source;
}

template <typename Address>
void Rib<Address>::add(const Prefix& prefix, NextHopId id) {
    const NextHops::Info& info = next_hops_.info(id);
    const NextHopId best = table_.exact(prefix);
    if (best == kNoNextHop) {
        table_.set(prefix, id);
        return;
    }
    if (is_of(best, info.source, info.distance) && others_.find(prefix) == others_.end()) {
        table_.set(prefix, id);
        next_hops_.drop(best);
        return;
    }
    std::vector<NextHopId> all{best};
    if (const auto others = others_.find(prefix); others != others_.end()) {
        all.insert(all.end(), others->second.begin(), others->second.end());
    }
    NextHopId replaced = kNoNextHop;
    for (NextHopId& each : all) {
        if (is_of(each, info.source, info.distance)) replaced = std::exchange(each, id);
    }
    if (replaced == kNoNextHop) all.push_back(id);
    std::stable_sort(all.begin(), all.end(),
                     [&](NextHopId a, NextHopId b) { return better(a, b); });
    if (all.front() != best) table_.set(prefix, all.front());
    all.erase(all.begin());
    if (all.empty()) {
        others_.erase(prefix);
    } else {
        others_[prefix] = std::move(all);
    }
    if (replaced != kNoNextHop) next_hops_.drop(replaced);
}

template <typename Address>
bool Rib<Address>::remove(const Prefix& prefix, NextHops::Source source, uint8_t distance) {
    const NextHopId best = table_.exact(prefix);
    if (best == kNoNextHop) return false;
    const auto others = others_.find(prefix);
    if (is_of(best, source, distance)) {
        if (others == others_.end()) {
            table_.erase(prefix);
        } else {
            table_.set(prefix, others->second.front());
            others->second.erase(others->second.begin());
            if (others->second.empty()) others_.erase(others);
        }
        next_hops_.drop(best);
        return true;
    }
    if (others == others_.end()) return false;
    const auto found = std::find_if(others->second.begin(), others->second.end(),
                                    [&](NextHopId id) { return is_of(id, source, distance); });
    if (found == others->second.end()) return false;
    const NextHopId id = *found;
    others->second.erase(found);
    if (others->second.empty()) others_.erase(others);
    next_hops_.drop(id);
    return true;
}

template <typename Address>
NextHopId Rib<Address>::find(const Prefix& prefix, NextHops::Source source,
                             uint8_t distance) const {
    const NextHopId best = table_.exact(prefix);
    if (best == kNoNextHop || is_of(best, source, distance)) return best;
    const auto others = others_.find(prefix);
    if (others == others_.end()) return kNoNextHop;
    const auto found = std::find_if(others->second.begin(), others->second.end(),
                                    [&](NextHopId id) { return is_of(id, source, distance); });
    return found != others->second.end() ? *found : kNoNextHop;
}

template <typename Address>
void Rib<Address>::clear() {
    std::vector<std::pair<Prefix, NextHopId>> all;
    for_each([&](const Prefix& prefix, NextHopId id, bool) { all.emplace_back(prefix, id); });
    for (const auto& [prefix, id] : all)
        table_.erase(prefix);
    for (const auto& [prefix, id] : all)
        next_hops_.drop(id);
    others_.clear();
}

template class Rib<net::Ipv4Address>;
template class Rib<net::Ipv6Address>;

}  // namespace heddle::control
