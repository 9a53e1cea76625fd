#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/human.h"
#include "cli/table.h"

namespace heddle::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    bool watch = false;
    std::vector<std::string> ports;
};

using Key = std::pair<std::string, std::string>;  // port, reason

struct Drop {
    uint64_t frames = 0;
    std::string meaning;
};

struct Snapshot {
    Clock::time_point time;
    std::map<Key, Drop> drops;
};

Result<Snapshot> take_snapshot(const Client& client, const Options& options) {
    v1::GetRequest request;
    request.set_kind(v1::GetRequest::DROPS);
    for (const std::string& port : options.ports)
        request.add_names(port);
    const auto objects = client.get(request);
    if (!objects) return tl::unexpected(objects.error());
    Snapshot snapshot{Clock::now(), {}};
    for (const v1::Object& object : *objects) {
        for (const v1::DropCount& drop : object.port().drops()) {
            snapshot.drops[{object.port().name(), drop.reason()}] = {drop.frames(), drop.meaning()};
        }
    }
    return snapshot;
}

void print_totals(const Snapshot& snapshot, std::ostream& out) {
    if (snapshot.drops.empty()) {
        out << "No frame was dropped.\n";
        return;
    }
    Table table({{"PORT"}, {"REASON"}, {"FRAMES", true}, {"MEANING"}});
    for (const auto& [key, drop] : snapshot.drops) {
        table.add({key.first, key.second, human_count(drop.frames), drop.meaning});
    }
    table.print(out);
}

/// A port that was deleted and made again begins at zero.
uint64_t rate(const Drop& drop, const Snapshot& before, const Key& key, double seconds) {
    const auto found = before.drops.find(key);
    const uint64_t then = found == before.drops.end() ? 0 : found->second.frames;
    if (drop.frames < then || seconds <= 0) return 0;
    return static_cast<uint64_t>(std::llround(static_cast<double>(drop.frames - then) / seconds));
}

void print_rates(const Snapshot& before, const Snapshot& now, std::ostream& out) {
    const double seconds = std::chrono::duration<double>(now.time - before.time).count();
    Table table({{"PORT"}, {"REASON"}, {"FRAMES", true}, {"PER SECOND", true}, {"MEANING"}});
    for (const auto& [key, drop] : now.drops) {
        table.add({key.first, key.second, human_count(drop.frames),
                   human_count(rate(drop, before, key, seconds)), drop.meaning});
    }
    table.print(out);
}

Result<void> show_drops(Session& session, const Options& options) {
    const auto client = Client::connect(session.socket);
    if (!client) return tl::unexpected(client.error());
    auto before = take_snapshot(*client, options);
    if (!before) return tl::unexpected(before.error());
    Environment& environment = session.environment;
    if (!options.watch) {
        print_totals(*before, environment.out);
        return {};
    }
    while (environment.pause()) {
        auto now = take_snapshot(*client, options);
        if (!now) return tl::unexpected(now.error());
        // On a terminal each table takes the place of the last one; in a file they are set apart.
        environment.out << (environment.out_is_terminal ? "\x1b[H\x1b[J" : "\n");
        print_rates(*before, *now, environment.out);
        environment.out.flush();
        before = std::move(now);
    }
    return {};
}

}  // namespace

void add_drops(CLI::App& app, Session& session) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("drops", "Show which frames were dropped, and why");
    command->add_option("PORT", options->ports, "Only of these ports");
    command->add_flag("-w,--watch", options->watch, "Show rates every second until interrupted");
    command->callback([=, &session] {
        session.command = [=, &session] { return show_drops(session, *options); };
    });
}

}  // namespace heddle::cli
