#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/kinds.h"
#include "cli/object_tables.h"
#include "cli/output.h"

namespace heddle::cli {
namespace {

struct Options {
    std::string kind;
    std::vector<std::string> names;
    std::string format = "table";
};

/// What is in the wrapper that carries objects of all kinds.
const google::protobuf::Message& content(const v1::Object& object) {
    switch (object.object_case()) {
        case v1::Object::kPort:
            return object.port();
        case v1::Object::kNetwork:
            return object.network();
        case v1::Object::kFdbEntry:
            return object.fdb_entry();
        case v1::Object::kWorker:
            return object.worker();
        case v1::Object::kTopology:
            return object.topology();
        case v1::Object::kRouter:
            return object.router();
        case v1::Object::kRoute:
            return object.route();
        case v1::Object::kNeighbor:
            return object.neighbor();
        case v1::Object::kNextHop:
            return object.next_hop();
        case v1::Object::OBJECT_NOT_SET:
            break;
    }
    return object;
}

void print_list(const std::vector<v1::Object>& objects, const std::string& format,
                std::ostream& out) {
    std::vector<const google::protobuf::Message*> messages;
    messages.reserve(objects.size());
    for (const v1::Object& object : objects)
        messages.push_back(&content(object));
    print_text(messages, format, out);
}

void print_table(const std::vector<v1::Object>& objects, v1::GetRequest::Kind kind, bool wide,
                 std::ostream& out) {
    switch (kind) {
        case v1::GetRequest::PORTS:
            return print_ports(objects, wide, out);
        case v1::GetRequest::NETWORKS:
            return print_networks(objects, out);
        case v1::GetRequest::FDB:
            return print_fdb(objects, out);
        case v1::GetRequest::ROUTERS:
            return print_routers(objects, out);
        case v1::GetRequest::ROUTES:
            return print_routes(objects, out);
        case v1::GetRequest::NEIGHBORS:
            return print_neighbors(objects, out);
        case v1::GetRequest::NEXT_HOPS:
            return print_next_hops(objects, out);
        case v1::GetRequest::WORKERS:
            return print_workers(objects, out);
        default:
            return;
    }
}

Result<void> get(Session& session, const Options& options) {
    const auto kind = find_kind(options.kind);
    if (!kind) return tl::unexpected(kind.error());
    if (!options.names.empty() && !(*kind)->has_names) {
        return unable(std::string((*kind)->name) + " cannot be selected by name");
    }
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());
    v1::GetRequest request;
    request.set_kind((*kind)->request);
    for (const std::string& name : options.names)
        request.add_names(name);
    const auto objects = client->get(request);
    if (!objects) return tl::unexpected(objects.error());

    std::ostream& out = session.environment.out;
    if (request.kind() == v1::GetRequest::TOPOLOGY) {
        // A document, to be applied again: there is one, and it has no table.
        const std::string format = is_text(options.format) ? options.format : "yaml";
        for (const v1::Object& object : *objects)
            print_text(object.topology(), format, out);
    } else if (is_text(options.format)) {
        print_list(*objects, options.format, out);
    } else {
        print_table(*objects, request.kind(), options.format == "wide", out);
    }
    return {};
}

}  // namespace

void add_get(CLI::App& app, Session& session) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("get", "Show objects and their state");
    command
        ->add_option(
            "KIND", options->kind,
            "ports, networks, fdb, routers, routes, neighbors, next-hops, workers or topology")
        ->required();
    command->add_option("NAME", options->names,
                        "Only these; for fdb and neighbors, of these networks; for routes "
                        "and next-hops, of these routers");
    add_output_option(*command, options->format);
    command->callback(
        [=, &session] { session.command = [=, &session] { return get(session, *options); }; });
}

}  // namespace heddle::cli
