#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/id_pool.h"
#include "forwarding/tables.h"

namespace heddle::control {

/// The next hops that routes lead to. Routes that lead to the same share one, so that a million
/// routes cost no more than what they point to.
///
/// A next hop also says who the route is from and at which distance: with that the LPM table is all
/// that is kept of a route, as long as its prefix has no other.
///
/// Concurrency: the control thread.
class NextHops {
 public:
    using Source = uint8_t;

    explicit NextHops(forwarding::Tables& tables) : tables_(tables) {}

    struct Member {
        forwarding::NextHop hop;
        uint8_t weight = 1;

        friend bool operator==(const Member&, const Member&) = default;
        friend bool operator<(const Member& a, const Member& b) noexcept {
            const uint64_t words[] = {a.hop.pack(), b.hop.pack()};
            return words[0] != words[1] ? words[0] < words[1] : a.weight < b.weight;
        }
    };

    struct Info {
        forwarding::NextHop hop;
        std::vector<Member> members;  ///< of a group
        Source source = 0;
        uint8_t distance = 0;
        uint64_t routes = 0;  ///< that lead to it
        std::unique_ptr<const forwarding::NextHopGroup> group;
    };

    /// The id of a next hop, with one more route to it. Several members make a group, whose flows
    /// stay where they are in `before` (kNoNextHop: none) as far as it has the same members.
    /// kNoNextHop if there are too many.
    forwarding::NextHopId take(const std::vector<Member>& members, Source source, uint8_t distance,
                               forwarding::NextHopId before = forwarding::kNoNextHop);

    /// One more route to a next hop that there is.
    void share(forwarding::NextHopId id) { ++info_[id].routes; }

    /// One route less. The last one retires it: it stays valid for workers until release().
    void drop(forwarding::NextHopId id);

    /// After a grace period: ids that were retired before may be used again.
    void release();
    bool has_retired() const { return !retired_.empty(); }

    const Info& info(forwarding::NextHopId id) const { return info_[id]; }

    template <typename Visit>
    void for_each(Visit visit) const {
        for (forwarding::NextHopId id = 1; id < info_.size(); ++id) {
            if (info_[id].routes != 0) visit(id, info_[id]);
        }
    }

 private:
    struct Key {
        std::vector<Member> members;
        Source source;
        uint8_t distance;

        friend bool operator<(const Key& a, const Key& b) noexcept {
            if (a.source != b.source) return a.source < b.source;
            if (a.distance != b.distance) return a.distance < b.distance;
            return a.members < b.members;
        }
    };

    std::unique_ptr<forwarding::NextHopGroup> make_group(const std::vector<Member>& members,
                                                         const forwarding::NextHopGroup* before);
    forwarding::NextHopId member_id(const Member& member);

    forwarding::Tables& tables_;
    std::vector<Info> info_ = std::vector<Info>(1);  ///< by id
    std::map<Key, forwarding::NextHopId> ids_;
    IdPool id_pool_;
    IdPool group_ids_;
    std::vector<forwarding::NextHopId> retired_;
    std::vector<uint32_t> retired_groups_;
    std::vector<std::unique_ptr<const forwarding::NextHopGroup>> garbage_;
};

}  // namespace heddle::control
