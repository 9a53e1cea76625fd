#include "model/plan.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "api/quote.h"
#include "model/difference.h"
#include "model/kinds.h"
#include "model/references.h"

namespace heddle::model {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

size_t count(const v1::Topology& topology, const Kind& kind) {
    return static_cast<size_t>(topology.GetReflection()->FieldSize(topology, kind.list));
}

const Message& object(const v1::Topology& topology, const Kind& kind, size_t index) {
    return topology.GetReflection()->GetRepeatedMessage(topology, kind.list,
                                                        static_cast<int>(index));
}

/// Path of an object that the request does not contain: ports["web"].
std::string path_by_name(const Kind& kind, const std::string& name) {
    return fmt::format("{}[{}]", kind.list->name(), api::quote_brief(name));
}

v1::Change change(v1::Change::Action action, std::string kind, std::string name) {
    v1::Change result;
    result.set_action(action);
    result.set_kind(std::move(kind));
    result.set_name(std::move(name));
    return result;
}

v1::Change update(const std::string& kind, const std::string& name, const Message& before,
                  const Message& after) {
    if (MessageDifferencer::Equals(before, after)) return change(v1::Change::UNCHANGED, kind, name);
    v1::Change result = change(v1::Change::UPDATE, kind, name);
    for (std::string& detail : difference(before, after))
        result.add_details(std::move(detail));
    return result;
}

/// Fields of the topology that are one message, such as `settings`: no object, but present or not.
void apply_single(Plan& plan, const v1::Topology& request, const FieldDescriptor& field,
                  bool replace) {
    const Reflection& reflection = *request.GetReflection();
    const bool was = reflection.HasField(plan.topology, &field);
    if (!reflection.HasField(request, &field)) {
        if (!replace || !was) return;
        reflection.ClearField(&plan.topology, &field);
        plan.changes.push_back(change(v1::Change::DELETE, field.name(), ""));
        return;
    }
    const Message& wanted = reflection.GetMessage(request, &field);
    plan.changes.push_back(
        was ? update(field.name(), "", reflection.GetMessage(plan.topology, &field), wanted)
            : change(v1::Change::CREATE, field.name(), ""));
    reflection.MutableMessage(&plan.topology, &field)->CopyFrom(wanted);
}

void apply_objects(Plan& plan, const v1::Topology& request, const Kind& kind, bool replace,
                   std::vector<v1::Change>& deletions) {
    const Reflection& reflection = *request.GetReflection();
    const std::string& list = kind.list->name();

    std::unordered_map<std::string, size_t> existing;
    for (size_t i = 0; i < count(plan.topology, kind); ++i) {
        existing.emplace(name_of(object(plan.topology, kind, i)), i);
    }
    std::vector<bool> given(count(plan.topology, kind), false);

    for (size_t i = 0; i < count(request, kind); ++i) {
        const Message& wanted = object(request, kind, i);
        const std::string name = name_of(wanted);
        const auto found = existing.find(name);
        size_t index = count(plan.topology, kind);
        if (found != existing.end() && !given[found->second]) {
            index = found->second;
            given[index] = true;
            Message& target = *reflection.MutableRepeatedMessage(&plan.topology, kind.list,
                                                                 static_cast<int>(index));
            plan.changes.push_back(update(kind.name, name, target, wanted));
            target.CopyFrom(wanted);
        } else {
            plan.changes.push_back(change(v1::Change::CREATE, kind.name, name));
            reflection.AddMessage(&plan.topology, kind.list)->CopyFrom(wanted);
        }
        plan.paths.set(list, index, api::element(list, i));
    }

    for (size_t i = 0; i < given.size(); ++i) {
        if (given[i]) continue;
        const std::string name = name_of(object(plan.topology, kind, i));
        if (replace) {
            deletions.push_back(change(v1::Change::DELETE, kind.name, name));
        } else {
            plan.paths.set(list, i, path_by_name(kind, name));
        }
    }
}

using ObjectKey = std::pair<std::string, std::string>;  // kind, name

class Deletion {
 public:
    Deletion(const v1::Topology& current, const v1::DeleteRequest& request) : current_(current) {
        for (const Kind& kind : kinds()) {
            for (size_t i = 0; i < count(current, kind); ++i) {
                existing_.emplace(kind.name, name_of(object(current, kind, i)));
            }
        }
        for (int i = 0; i < request.objects_size(); ++i) {
            select(request.objects(i), api::element("objects", static_cast<size_t>(i)));
        }
    }

    tl::expected<Plan, api::Problems> plan() {
        check_references();
        if (!problems_.empty()) return tl::unexpected(problems_.take());
        Plan plan;
        plan.topology = current_;
        for (const Kind& kind : kinds()) {
            plan.topology.GetReflection()->ClearField(&plan.topology, kind.list);
        }
        for_each_kept([&](const Kind& kind, const Message& kept) {
            plan.topology.GetReflection()->AddMessage(&plan.topology, kind.list)->CopyFrom(kept);
        });
        plan.changes = std::move(changes_);
        return plan;
    }

 private:
    void select(const v1::ObjectName& named, const std::string& path) {
        if (find_kind(named.kind()) == nullptr) {
            std::vector<std::string_view> names;
            for (const Kind& kind : kinds())
                names.push_back(kind.name);
            return problems_.add(
                api::member(path, "kind"),
                fmt::format("unknown kind {}; known are {}", api::quote_brief(named.kind()),
                            fmt::join(names, ", ")));
        }
        if (!existing_.contains({named.kind(), named.name()})) {
            return problems_.add(path, fmt::format("no {} is named {}", named.kind(),
                                                   api::quote_brief(named.name())));
        }
        if (selected_.emplace(ObjectKey(named.kind(), named.name()), path).second) {
            changes_.push_back(change(v1::Change::DELETE, named.kind(), named.name()));
        }
    }

    /// Objects that stay must not lose one they refer to.
    void check_references() {
        for_each_kept([&](const Kind& kind, const Message& user) {
            for_each_reference(user, [&](const Reference& reference) {
                const auto lost = selected_.find({reference.kind.name, reference.name});
                if (lost == selected_.end()) return;
                problems_.add(lost->second,
                              fmt::format("{} {} is in use by {} {} ({})", reference.kind.name,
                                          api::quote_brief(reference.name), kind.name,
                                          api::quote_brief(name_of(user)), reference.path));
            });
        });
    }

    void for_each_kept(const std::function<void(const Kind&, const Message&)>& visit) const {
        for (const Kind& kind : kinds()) {
            for (size_t i = 0; i < count(current_, kind); ++i) {
                const Message& candidate = object(current_, kind, i);
                if (!selected_.contains({kind.name, name_of(candidate)})) visit(kind, candidate);
            }
        }
    }

    const v1::Topology& current_;
    std::set<ObjectKey> existing_;
    std::map<ObjectKey, std::string> selected_;  // where the request names it
    std::vector<v1::Change> changes_;
    api::ProblemList problems_;
};

}  // namespace

Plan plan_apply(const v1::Topology& current, const v1::Topology& request, bool replace) {
    Plan plan;
    plan.topology = current;
    std::vector<v1::Change> deletions;
    const auto& type = *v1::Topology::descriptor();
    for (int i = 0; i < type.field_count(); ++i) {
        if (!type.field(i)->is_repeated()) apply_single(plan, request, *type.field(i), replace);
    }
    for (const Kind& kind : kinds())
        apply_objects(plan, request, kind, replace, deletions);
    plan.changes.insert(plan.changes.end(), deletions.begin(), deletions.end());
    if (replace) {
        // The document is then the whole truth, also of the order.
        plan.topology = request;
        plan.paths = {};
    }
    return plan;
}

tl::expected<Plan, api::Problems> plan_delete(const v1::Topology& current,
                                              const v1::DeleteRequest& request) {
    return Deletion(current, request).plan();
}

}  // namespace heddle::model
