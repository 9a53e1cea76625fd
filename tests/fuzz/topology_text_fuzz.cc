#include <google/protobuf/util/message_differencer.h>

#include <cstdlib>

#include "api/text.h"
#include "model/plan.h"
#include "model/validate.h"

// Input: a document as `heddle apply` takes it. Whatever it is, it is read or refused; what was
// read comes back from both texts, can be planned and validated, and applied twice changes nothing.

namespace heddle {
namespace {

using google::protobuf::util::MessageDifferencer;

void require(bool condition) {
    if (!condition) std::abort();
}

void check_round_trip(const v1::Topology& topology) {
    for (const std::string& text : {api::to_yaml(topology), api::to_json(topology)}) {
        const auto again = api::parse<v1::Topology>(text);
        require(again.has_value() && MessageDifferencer::Equals(topology, *again));
    }
}

v1::Topology current_topology() {
    return *api::parse<v1::Topology>(
        "networks: [{name: blue}, {name: red, static_fdb: [{mac: 02:00:00:00:00:01, port: db}]}]\n"
        "ports: [{name: web, tap: {}, network: blue}, {name: db, tap: {}, network: red}]");
}

void check_plans(const v1::Topology& request) {
    static const v1::Topology current = current_topology();
    for (const bool replace : {false, true}) {
        const model::Plan plan = model::plan_apply(current, request, replace);
        const auto validated = model::validate(plan.topology, plan.paths);
        if (!validated) {
            require(!validated.error().empty());
            continue;
        }
        for (const v1::Change& change :
             model::plan_apply(plan.topology, request, replace).changes) {
            require(change.action() == v1::Change::UNCHANGED);
        }
        require(validated->ports.size() == static_cast<size_t>(plan.topology.ports_size()));
    }
}

void check(std::string_view text) {
    const auto document = api::Document::parse(text);
    if (!document) {
        require(!document.error().empty());
        return;
    }
    v1::Topology topology;
    const api::Problems problems = api::read(*document, topology);
    for (const v1::Problem& problem : problems) {
        require(!problem.message().empty());
        document->line_of(problem.path());
    }
    if (!problems.empty()) return;
    check_round_trip(topology);
    check_plans(topology);
}

}  // namespace
}  // namespace heddle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    heddle::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
