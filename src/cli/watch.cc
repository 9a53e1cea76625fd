#include <fmt/format.h>

#include "api/quote.h"
#include "cli/commands.h"
#include "cli/human.h"

namespace heddle::cli {
namespace {

Result<void> watch(Session& session) {
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());
    std::ostream& out = session.environment.out;
    return tl::unexpected(client->watch([&](const v1::Event& event) {
        const std::string line =
            fmt::format("{}  {}{}{}: {}", human_time(event.time_ns()), event.kind(),
                        event.name().empty() ? "" : " ", event.name(), event.message());
        out << api::printable(line) << '\n' << std::flush;
    }));
}

}  // namespace

void add_watch(CLI::App& app, Session& session) {
    app.add_subcommand("watch", "Show events as they happen, until interrupted")
        ->callback([&session] { session.command = [&session] { return watch(session); }; });
}

}  // namespace heddle::cli
