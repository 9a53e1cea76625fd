#include <fmt/format.h>

#include <memory>
#include <vector>

#include "api/quote.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/output.h"

namespace heddle::cli {
namespace {

void print_table(const v1::Status& status, std::ostream& out) {
    const v1::PortCounters& totals = status.totals();
    const std::vector<std::pair<const char*, std::string>> lines = {
        {"version", status.version()},
        {"pid", fmt::to_string(status.pid())},
        {"uptime", human_duration(status.uptime_seconds())},
        {"workers", fmt::to_string(status.workers())},
        {"memory", status.hugepages() ? "hugepages" : "ordinary pages"},
        {"networks", fmt::to_string(status.networks())},
        {"ports", fmt::format("{} up, {} down", status.ports_up(), status.ports_down())},
        {"buffers",
         fmt::format("{} in use ({} of them ready to receive) of {}", status.buffers_in_use(),
                     status.buffers_base(), status.buffers_total())},
        {"received", fmt::format("{} frames, {} bytes", human_count(totals.rx_frames()),
                                 human_count(totals.rx_bytes()))},
        {"sent", fmt::format("{} frames, {} bytes, {} packets", human_count(totals.tx_frames()),
                             human_count(totals.tx_bytes()), human_count(totals.tx_packets()))},
        {"dropped", fmt::format("{} frames", human_count(totals.dropped()))},
    };
    for (const auto& [key, value] : lines)
        out << fmt::format("{:<10}{}\n", key, value);
    for (const v1::DropCount& drop : status.drops()) {
        out << fmt::format("  {:>8}  {}: {}\n", human_count(drop.frames()), drop.reason(),
                           drop.meaning());
    }
    for (const std::string& warning : status.warnings())
        out << "warning: " << api::printable(warning) << '\n';
}

Result<void> show_status(Session& session, const std::string& format) {
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());
    const auto status = client->status();
    if (!status) return tl::unexpected(status.error());
    if (is_text(format)) {
        print_text(*status, format, session.environment.out);
    } else {
        print_table(*status, session.environment.out);
    }
    return {};
}

}  // namespace

void add_status(CLI::App& app, Session& session) {
    const auto format = std::make_shared<std::string>("table");
    CLI::App* const command = app.add_subcommand("status", "Show how the daemon is");
    add_output_option(*command, *format);
    command->callback([=, &session] {
        session.command = [=, &session] { return show_status(session, *format); };
    });
}

}  // namespace heddle::cli
