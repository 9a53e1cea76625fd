#pragma once

#include <map>
#include <vector>

#include "control/next_hops.h"
#include "forwarding/lpm.h"
#include "net/ip_prefix.h"

namespace heddle::control {

/// The routes of a router and one family, from all sources. The best of each prefix is in the LPM
/// table and nowhere else; only prefixes with several routes have a list of the others.
///
/// Concurrency: the control thread; workers look up in the table meanwhile.
template <typename Address>
class Rib {
 public:
    using Prefix = net::Prefix<Address>;
    using Table = forwarding::Lpm<Address>;

    Rib(Table& table, NextHops& next_hops) : table_(table), next_hops_(next_hops) {}
    ~Rib() { clear(); }

    /// Routes of one source to one prefix differ in their distance only if the source may have
    /// several: the static ones do. Takes over one count of `id`. Throws std::bad_alloc if the
    /// table is full; then nothing has changed, and the count is still the caller's.
    void add(const Prefix& prefix, forwarding::NextHopId id);

    /// The route of a source, of a distance if it may have several; false if there is none.
    bool remove(const Prefix& prefix, NextHops::Source source, uint8_t distance);

    /// The next hop of that route, or kNoNextHop.
    forwarding::NextHopId find(const Prefix& prefix, NextHops::Source source,
                               uint8_t distance) const;

    void clear();
    size_t size() const { return table_.size(); }

    /// Calls `visit(prefix, id, active)` for each route, in the order of prefixes.
    template <typename Visit>
    void for_each(Visit visit) const {
        table_.for_each([&](const Prefix& prefix, forwarding::NextHopId best) {
            visit(prefix, best, true);
            const auto others = others_.find(prefix);
            if (others == others_.end()) return;
            for (const forwarding::NextHopId id : others->second)
                visit(prefix, id, false);
        });
    }

 private:
    bool is_of(forwarding::NextHopId id, NextHops::Source source, uint8_t distance) const;
    bool better(forwarding::NextHopId a, forwarding::NextHopId b) const;

    Table& table_;
    NextHops& next_hops_;
    std::map<Prefix, std::vector<forwarding::NextHopId>> others_;  ///< worse than that in the table
};

/// Where routes come from. Others are given numbers as they appear.
namespace route_source {
inline constexpr NextHops::Source kLocal = 0;
inline constexpr NextHops::Source kAttached = 1;
inline constexpr NextHops::Source kStatic = 2;
inline constexpr NextHops::Source kFirstOther = 3;
inline constexpr NextHops::Source kLastOther = 250;
}  // namespace route_source

}  // namespace heddle::control
