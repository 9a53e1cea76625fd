#include "model/validate.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_map>

#include "api/quote.h"
#include "api/suggest.h"
#include "model/checks.h"
#include "model/kinds.h"
#include "model/network_rules.h"
#include "model/port_rules.h"
#include "model/references.h"
#include "model/router_rules.h"
#include "model/static_fdb_rules.h"

namespace heddle::model {
namespace {

/// Comparing a misspelled name with thousands of others would cost more than the hint is worth.
constexpr size_t kMaxCandidates = 200;

class Validation {
 public:
    Validation(const v1::Topology& topology, const ObjectPaths& paths)
        : topology_(topology), paths_(paths) {}

    tl::expected<Topology, api::Problems> run() {
        if (too_many()) return tl::unexpected(problems_.take());
        check_names();
        check_references();
        settings();
        networks();
        ports();
        check_devices();
        static_fdb();
        routers();
        if (!problems_.empty()) return tl::unexpected(problems_.take());
        return std::move(result_);
    }

 private:
    std::string path(const Kind& kind, size_t index) const {
        return paths_.of(kind.list->name(), index);
    }

    void for_each_object(
        const std::function<void(const Kind&, size_t, const google::protobuf::Message&)>& visit) {
        for (const Kind& kind : kinds()) {
            const int size = topology_.GetReflection()->FieldSize(topology_, kind.list);
            for (int i = 0; i < size; ++i) {
                visit(kind, static_cast<size_t>(i),
                      topology_.GetReflection()->GetRepeatedMessage(topology_, kind.list, i));
            }
        }
    }

    void limit(const char* path, const char* what, size_t count, size_t most) {
        if (count > most) problems_.add(path, fmt::format("{} {}, at most {}", count, what, most));
    }

    /// Also keeps what follows from taking long for a hostile document.
    bool too_many() {
        size_t attachments = 0;
        for (const v1::Port& port : topology_.ports()) {
            attachments +=
                static_cast<size_t>(port.vlans_size()) + (port.network().empty() ? 0 : 1);
        }
        size_t static_entries = 0;
        for (const v1::Network& network : topology_.networks()) {
            static_entries += static_cast<size_t>(network.static_fdb_size());
        }
        limit("networks", "networks", static_cast<size_t>(topology_.networks_size()), kMaxNetworks);
        limit("ports", "ports", static_cast<size_t>(topology_.ports_size()), kMaxPorts);
        size_t interfaces = 0;
        size_t routes = 0;
        for (const v1::Router& router : topology_.routers()) {
            interfaces += static_cast<size_t>(router.interfaces_size());
            routes += static_cast<size_t>(router.routes_size());
        }
        limit("routers", "routers", static_cast<size_t>(topology_.routers_size()), kMaxRouters);
        limit("routers", "interfaces", interfaces, kMaxInterfaces);
        limit("routers", "routes", routes, kMaxRoutes);
        limit("ports", "attachments of ports to networks", attachments, kMaxAttachments);
        limit("networks", "entries in static_fdb", static_entries, kMaxStaticEntries);
        return !problems_.empty();
    }

    void check_names() {
        for_each_object([&](const Kind& kind, size_t index, const auto& object) {
            const std::string name = name_of(object);
            if (name.empty()) return;  // said of the object itself
            const auto [first, is_new] = names_[&kind].emplace(name, index);
            if (is_new) return;
            problems_.add(api::member(path(kind, index), "name"),
                          fmt::format("{} is also the name of {}", api::quote_brief(name),
                                      path(kind, first->second)));
        });
    }

    void check_references() {
        for_each_object([&](const Kind& kind, size_t index, const auto& object) {
            for_each_reference(object, [&](const Reference& reference) {
                const auto& names = names_[&reference.kind];
                if (names.contains(reference.name)) return;
                std::vector<std::string_view> candidates;
                if (names.size() <= kMaxCandidates) {
                    for (const auto& [name, where] : names)
                        candidates.push_back(name);
                }
                problems_.add(api::member(path(kind, index), reference.path),
                              fmt::format("no {} is named {}{}", reference.kind.name,
                                          api::quote_brief(reference.name),
                                          api::did_you_mean(reference.name, candidates)));
            });
        });
    }

    void settings() {
        const v1::Settings& given = topology_.settings();
        if (given.has_workers()) {
            result_.settings.workers =
                checked<uint16_t>(given.workers(), kWorkers, "settings.workers", problems_);
        }
        switch (given.polling()) {
            case v1::Settings::ADAPTIVE:
                result_.settings.polling = Polling::adaptive;
                return;
            case v1::Settings::BUSY:
                result_.settings.polling = Polling::busy;
                return;
            default:
                problems_.add("settings.polling", "must be ADAPTIVE or BUSY");
        }
    }

    void networks() {
        for (int i = 0; i < topology_.networks_size(); ++i) {
            result_.networks.push_back(
                validate_network(topology_.networks(i), paths_.of("networks", i), problems_));
        }
    }

    void ports() {
        for (int i = 0; i < topology_.ports_size(); ++i) {
            result_.ports.push_back(
                validate_port(topology_.ports(i), paths_.of("ports", i), problems_));
        }
    }

    void check_devices() {
        std::unordered_map<std::string, size_t> owners;
        for (size_t i = 0; i < result_.ports.size(); ++i) {
            if (topology_.ports(static_cast<int>(i)).device_case() == v1::Port::DEVICE_NOT_SET)
                continue;
            const std::string identity = device_identity(result_.ports[i].device);
            const auto [owner, is_new] = owners.emplace(identity, i);
            if (is_new) continue;
            problems_.add(paths_.of("ports", i), fmt::format("{} is also that of {}", identity,
                                                             paths_.of("ports", owner->second)));
        }
    }

    void static_fdb() {
        const FindPort find_port = by_name(result_.ports);
        for (int i = 0; i < topology_.networks_size(); ++i) {
            result_.networks[static_cast<size_t>(i)].static_fdb =
                validate_static_fdb(topology_.networks(i), find_port,
                                    api::member(paths_.of("networks", i), "static_fdb"), problems_);
        }
    }

    void routers() {
        const Surroundings surroundings{by_name(result_.networks), by_name(result_.ports)};
        for (int i = 0; i < topology_.routers_size(); ++i) {
            result_.routers.push_back(validate_router(topology_.routers(i), surroundings,
                                                      paths_.of("routers", i), problems_));
        }
        check_routers_together(result_, paths_, problems_);
    }

    /// A function that finds an object by its name.
    template <typename Object>
    static std::function<const Object*(const std::string&)> by_name(
        const std::vector<Object>& objects) {
        std::unordered_map<std::string, const Object*> found;
        for (const Object& object : objects)
            found.emplace(object.name, &object);
        return [found = std::move(found)](const std::string& name) -> const Object* {
            const auto it = found.find(name);
            return it != found.end() ? it->second : nullptr;
        };
    }

    const v1::Topology& topology_;
    const ObjectPaths& paths_;
    std::map<const Kind*, std::map<std::string, size_t>>
        names_;  // to the first object of that name
    Topology result_;
    api::ProblemList problems_;
};

}  // namespace

tl::expected<Topology, api::Problems> validate(const v1::Topology& topology,
                                               const ObjectPaths& paths) {
    return Validation(topology, paths).run();
}

}  // namespace heddle::model
