#include "control/next_hops.h"

#include <algorithm>
#include <numeric>

namespace heddle::control {

using forwarding::kNoNextHop;
using forwarding::NextHop;
using forwarding::NextHopGroup;
using forwarding::NextHopId;

namespace {

constexpr NextHops::Source kMember = UINT8_MAX;  ///< next hops that only groups lead to

/// How many buckets each member gets: in proportion to its weight, the rest to the largest
/// remainders.
std::vector<unsigned> shares(const std::vector<NextHops::Member>& members) {
    const unsigned total =
        std::accumulate(members.begin(), members.end(), 0U,
                        [](unsigned sum, const auto& member) { return sum + member.weight; });
    std::vector<unsigned> result;
    std::vector<std::pair<unsigned, size_t>> remainders;
    unsigned given = 0;
    for (size_t i = 0; i < members.size(); ++i) {
        const unsigned scaled = NextHopGroup::kBuckets * members[i].weight;
        result.push_back(scaled / total);
        given += result.back();
        remainders.emplace_back(scaled % total, i);
    }
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (size_t i = 0; given < NextHopGroup::kBuckets; ++i, ++given)
        ++result[remainders[i % remainders.size()].second];
    return result;
}

}  // namespace

NextHopId NextHops::member_id(const Member& member) {
    return take({{member.hop, 1}}, kMember, 0);
}

std::unique_ptr<NextHopGroup> NextHops::make_group(const std::vector<Member>& members,
                                                   const NextHopGroup* before) {
    std::vector<unsigned> left = shares(members);
    auto group = std::make_unique<NextHopGroup>();
    std::vector<NextHopId> ids;
    for (const Member& member : members) {
        ids.push_back(member_id(member));
        if (ids.back() == kNoNextHop) {
            for (const NextHopId id : ids) {
                if (id != kNoNextHop) drop(id);
            }
            return nullptr;
        }
    }
    // What stays stays in its bucket; the rest goes to those that lack some.
    std::vector<size_t> open;
    for (size_t bucket = 0; bucket < group->buckets.size(); ++bucket) {
        const NextHopId was = before != nullptr ? before->buckets[bucket] : kNoNextHop;
        const auto found = std::find(ids.begin(), ids.end(), was);
        const auto member = static_cast<size_t>(found - ids.begin());
        if (found == ids.end() || left[member] == 0) {
            open.push_back(bucket);
            continue;
        }
        group->buckets[bucket] = was;
        --left[member];
    }
    size_t member = 0;
    for (const size_t bucket : open) {
        // In turns, so that the shares of one member do not lie side by side.
        while (left[member] == 0)
            member = (member + 1) % members.size();
        group->buckets[bucket] = ids[member];
        --left[member];
        member = (member + 1) % members.size();
    }
    return group;
}

NextHopId NextHops::take(const std::vector<Member>& members, Source source, uint8_t distance,
                         NextHopId before) {
    Key key{members, source, distance};
    if (key.members.size() == 1) key.members.front().weight = 1;
    std::sort(key.members.begin(), key.members.end());
    if (const auto found = ids_.find(key); found != ids_.end()) {
        ++info_[found->second].routes;
        return found->second;
    }
    Info info;
    info.source = source;
    info.distance = distance;
    info.routes = 1;
    if (key.members.size() == 1) {
        info.hop = key.members.front().hop;
    } else {
        info.members = key.members;
        auto group =
            make_group(key.members, before == kNoNextHop ? nullptr : info_[before].group.get());
        if (group == nullptr) return kNoNextHop;
        const uint32_t group_id = group_ids_.take();
        if (group_id >= forwarding::kMaxNextHopGroups) {
            group_ids_.give_back(group_id);
            for (const Member& member : key.members)
                drop(ids_.at(Key{{{member.hop, 1}}, kMember, 0}));
            return kNoNextHop;
        }
        tables_.publish_group(group_id, group.get());
        info.group = std::move(group);
        info.hop = {NextHop::Kind::group, forwarding::kNoInterface, group_id};
    }
    const NextHopId id = id_pool_.take();
    if (id >= forwarding::kMaxNextHops) {
        id_pool_.give_back(id);
        if (info.group != nullptr) {  // no worker has seen it
            tables_.publish_group(info.hop.index, nullptr);
            group_ids_.give_back(info.hop.index);
            for (const Member& member : key.members)
                drop(ids_.at(Key{{{member.hop, 1}}, kMember, 0}));
        }
        return kNoNextHop;
    }
    if (info_.size() <= id) info_.resize(id + 1);
    tables_.publish_next_hop(id, info.hop);
    info_[id] = std::move(info);
    ids_.emplace(std::move(key), id);
    return id;
}

void NextHops::drop(NextHopId id) {
    Info& info = info_[id];
    if (--info.routes != 0) return;
    Key key{info.members, info.source, info.distance};
    if (info.group == nullptr) {
        key.members = {{info.hop, 1}};
    } else {
        retired_groups_.push_back(info.hop.index);
        garbage_.push_back(std::move(info.group));
    }
    ids_.erase(key);
    retired_.push_back(id);
    const std::vector<Member> members = std::move(info.members);
    info = {};
    for (const Member& member : members)
        drop(ids_.at(Key{{{member.hop, 1}}, kMember, 0}));
}

void NextHops::release() {
    for (const NextHopId id : retired_) {
        tables_.publish_next_hop(id, {});
        id_pool_.give_back(id);
    }
    for (const uint32_t id : retired_groups_) {
        tables_.publish_group(id, nullptr);
        group_ids_.give_back(id);
    }
    retired_.clear();
    retired_groups_.clear();
    garbage_.clear();
}

}  // namespace heddle::control
