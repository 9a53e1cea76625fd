#include <memory>

#include "cli/commands.h"

namespace heddle::cli {
namespace {

struct Options {
    std::string router;
    std::string address;
};

Result<void> lookup(Session& session, const Options& options) {
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());
    v1::LookupRequest request;
    request.set_router(options.router);
    request.set_address(options.address);
    const auto response = client->lookup(request);
    if (!response) return tl::unexpected(response.error());
    if (!response->problem().empty()) return refused(response->problem());
    for (const std::string& step : response->steps())
        session.environment.out << step << '\n';
    return {};
}

}  // namespace

void add_lookup(CLI::App& app, Session& session) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("lookup", "Show what a router does with a packet, step by step");
    command->add_option("ROUTER", options->router, "Name of the router")->required();
    command->add_option("ADDRESS", options->address, "Destination, IPv4 or IPv6")->required();
    command->callback(
        [=, &session] { session.command = [=, &session] { return lookup(session, *options); }; });
}

}  // namespace heddle::cli
