#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "api/quote.h"
#include "cli/commands.h"

namespace heddle::cli {
namespace {

struct Options {
    std::string router;
    std::string source;
    std::string file;
};

/// Routes in one message: large enough that the call costs little for each of them.
constexpr int kRoutesPerUpdate = 2000;

/// One line: "PREFIX via ADDRESS [via ADDRESS ...]", "PREFIX blackhole", "PREFIX reject" or
/// "withdraw PREFIX", with "distance N" behind. Answers what is wrong with it.
std::string parse_line(const std::string& line, v1::RouteUpdate& update) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word[0] == '#') return {};
    if (word == "withdraw") {
        if (!(words >> *update.add_withdrawn())) return "withdraw what?";
        return words >> word ? "something follows the prefix" : "";
    }
    v1::Route& route = *update.add_routes();
    route.set_prefix(word);
    while (words >> word) {
        std::string value;
        if (word == "blackhole") {
            route.set_blackhole(true);
        } else if (word == "reject") {
            route.set_reject(true);
        } else if (word == "via" && words >> value) {
            route.add_next_hops()->set_address(value);
        } else if (word == "network" && route.next_hops_size() != 0 && words >> value) {
            route.mutable_next_hops()->rbegin()->set_network(value);
        } else if (uint32_t distance = 0; word == "distance" && words >> distance) {
            route.set_distance(distance);
        } else {
            return fmt::format("what is {}?", api::quote_brief(word));
        }
    }
    return {};
}

Result<void> update_routes(Session& session, const Options& options) {
    std::ifstream file;
    if (options.file != "-") {
        file.open(options.file);
        if (!file) return unable(fmt::format("{} cannot be read", options.file));
    }
    std::istream& in = options.file == "-" ? session.environment.in : file;
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());

    v1::RouteUpdate update;
    std::string problem;
    size_t line_number = 0;
    const auto next = [&]() -> const v1::RouteUpdate* {
        update.Clear();
        update.set_router(options.router);
        update.set_source(options.source);
        for (std::string line; update.routes_size() + update.withdrawn_size() < kRoutesPerUpdate &&
                               problem.empty() && std::getline(in, line);) {
            ++line_number;
            problem = parse_line(line, update);
        }
        const bool any = update.routes_size() + update.withdrawn_size() != 0;
        return any && problem.empty() ? &update : nullptr;
    };
    const auto response = client->update_routes(next);
    if (!response) return tl::unexpected(response.error());
    for (const v1::Problem& each : response->problems()) {
        session.environment.err << fmt::format("{}: {}\n", each.path(),
                                               api::printable(each.message()));
    }
    session.environment.out << fmt::format("{} routes added, {} withdrawn\n", response->added(),
                                           response->withdrawn());
    if (!problem.empty()) {
        return refused(fmt::format("{}:{}: {}; what stood before was sent", options.file,
                                   line_number, problem));
    }
    if (response->problems_size() != 0) return refused("");
    return {};
}

}  // namespace

void add_update_routes(CLI::App& app, Session& session) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand(
        "update-routes", "Add and withdraw routes that are not part of the topology");
    command->add_option("ROUTER", options->router, "Name of the router")->required();
    command->add_option("--source", options->source, "Whose routes they are, such as bgp")
        ->required();
    command->add_option("-f,--file", options->file, "One route per line; - for standard input")
        ->required();
    command->callback([=, &session] {
        session.command = [=, &session] { return update_routes(session, *options); };
    });
}

}  // namespace heddle::cli
