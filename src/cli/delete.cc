#include <memory>
#include <vector>

#include "api/quote.h"
#include "cli/changes.h"
#include "cli/commands.h"
#include "cli/kinds.h"
#include "cli/source.h"

namespace heddle::cli {
namespace {

struct Options {
    std::string kind;
    std::vector<std::string> names;
    std::string file;
    bool dry_run = false;
};

void add_object(v1::DeleteRequest& request, std::string_view kind, const std::string& name) {
    v1::ObjectName& object = *request.add_objects();
    object.set_kind(std::string(kind));
    object.set_name(name);
}

Result<v1::DeleteRequest> from_arguments(const Options& options) {
    const auto kind = find_kind(options.kind, true);
    if (!kind) return tl::unexpected(kind.error());
    if (options.names.empty()) return unable("give the names of the objects to delete");
    v1::DeleteRequest request;
    for (const std::string& name : options.names)
        add_object(request, (*kind)->desired, name);
    return request;
}

/// Everything the document names, ports before the networks they are in.
Result<v1::DeleteRequest> from_file(const Options& options, Environment& environment) {
    const auto source = Source::read(options.file, environment);
    if (!source) return tl::unexpected(source.error());
    v1::DeleteRequest request;
    for (const v1::Port& port : source->topology().ports())
        add_object(request, "port", port.name());
    for (const v1::Network& network : source->topology().networks()) {
        add_object(request, "network", network.name());
    }
    return request;
}

Result<void> remove(Session& session, const Options& options) {
    if (options.file.empty() == options.kind.empty()) {
        return unable("give either KIND and NAMEs or -f FILE");
    }
    auto request =
        options.file.empty() ? from_arguments(options) : from_file(options, session.environment);
    if (!request) return tl::unexpected(request.error());
    request->set_dry_run(options.dry_run);
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());
    const auto response = client->remove(*request);
    if (!response) return tl::unexpected(response.error());
    // The paths are those of the request, which the user has not written.
    return report(
        *response, options.dry_run,
        [](const v1::Problem& problem) { return api::printable(problem.message()); },
        session.environment.out, session.environment.err);
}

}  // namespace

void add_delete(CLI::App& app, Session& session) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("delete", "Delete objects from the desired state");
    command->add_option("KIND", options->kind, "port or network");
    command->add_option("NAME", options->names, "Objects of that kind");
    command->add_option("-f,--file", options->file, "Delete all objects a document names")
        ->type_name("FILE");
    command->add_flag("--dry-run", options->dry_run, "Check, and show what would change");
    command->callback(
        [=, &session] { session.command = [=, &session] { return remove(session, *options); }; });
}

}  // namespace heddle::cli
