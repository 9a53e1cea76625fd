#include <memory>

#include "cli/changes.h"
#include "cli/commands.h"
#include "cli/source.h"

namespace heddle::cli {
namespace {

struct Options {
    std::string file;
    bool dry_run = false;
    bool replace = false;
};

/// What the daemon has to say of a document whose text is not right in all places; nothing if it
/// cannot be asked.
api::Problems problems_of(const v1::Topology& readable, const Session& session,
                          const Options& options) {
    const auto client = Client::connect(session.socket);
    if (!client) return {};
    v1::ApplyRequest request;
    *request.mutable_topology() = readable;
    request.set_replace(options.replace);
    request.set_dry_run(true);
    const auto response = client->apply(request);
    if (!response) return {};
    return {response->problems().begin(), response->problems().end()};
}

Result<void> apply(Session& session, const Options& options) {
    const auto source = Source::read(
        options.file, session.environment,
        [&](const v1::Topology& readable) { return problems_of(readable, session, options); });
    if (!source) return tl::unexpected(source.error());
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());

    v1::ApplyRequest request;
    *request.mutable_topology() = source->topology();
    request.set_replace(options.replace);
    request.set_dry_run(options.dry_run);
    const auto response = client->apply(request);
    if (!response) return tl::unexpected(response.error());
    return report(
        *response, options.dry_run,
        [&](const v1::Problem& problem) { return source->describe(problem); },
        session.environment.out, session.environment.err);
}

}  // namespace

void add_apply(CLI::App& app, Session& session) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("apply", "Make a document the desired state");
    command->add_option("-f,--file", options->file, "YAML or JSON document; - is standard input")
        ->required()
        ->type_name("FILE");
    command->add_flag("--dry-run", options->dry_run, "Check, and show what would change");
    command->add_flag("--replace", options->replace, "Delete what the document lacks");
    command->callback(
        [=, &session] { session.command = [=, &session] { return apply(session, *options); }; });
}

}  // namespace heddle::cli
