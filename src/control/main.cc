// heddled, the daemon: starts the engine and serves the API until it is told to stop.

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>

#include "control/api_server.h"
#include "control/daemon.h"
#include "control/eal.h"
#include "control/event_bus.h"
#include "control/file_lock.h"
#include "control/log.h"
#include "control/privileges.h"
#include "control/state_file.h"
#include "packet/pools.h"

namespace heddle::control {
namespace {

struct CommandLine {
    std::string socket = "/run/heddle/heddled.sock";
    std::string group = "heddle";
    std::string state = "/var/lib/heddle/state";
    unsigned memory_mib = 512;
    uint32_t small_buffers = packet::PoolSizes{}.small;
    uint32_t large_buffers = packet::PoolSizes{}.large;
    bool no_hugepages = false;
};

/// What went wrong at start, and the exit status that says so.
int fail(const std::string& what) {
    log_error("start", {{"problem", what}});
    sd_notifyf(0, "STATUS=%s", what.c_str());
    return 1;
}

int run(const CommandLine& options) {
    // Before there are threads: they inherit the mask, and only sigwait() below sees the signals.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    if (const std::string missing = missing_privileges(); !missing.empty()) return fail(missing);
    auto socket = SocketClaim::take(options.socket);
    if (!socket) return fail(socket.error());
    const auto state_lock =
        FileLock::take(options.state + ".lock", "keeps its state in " + options.state);
    if (!state_lock) return fail(state_lock.error() + ", or use another --state");
    auto eal =
        Eal::init({.memory_mib = options.memory_mib, .hugepages_wanted = !options.no_hugepages});
    if (!eal) return fail(eal.error());
    auto pools = packet::Pools::create({options.small_buffers, options.large_buffers});
    if (!pools) return fail(pools.error());

    StateFile state(options.state);
    EventBus events;
    Daemon daemon(*pools, state, events,
                  {.version = HEDDLE_VERSION, .hugepages = eal->hugepages()});
    if (auto restored = daemon.restore(); !restored) return fail(restored.error());
    auto server = ApiServer::start(daemon, std::move(*socket), options.group);
    if (!server) return fail(server.error());

    log_info("ready", {{"version", HEDDLE_VERSION},
                       {"socket", options.socket},
                       {"memory", eal->hugepages() ? "hugepages" : "pages"}});
    sd_notify(0, "READY=1\nSTATUS=Moving packets");
    int signal = 0;
    sigwait(&signals, &signal);
    sd_notify(0, "STOPPING=1");
    log_info("stopping", {{"signal", fmt::format("{}", signal)}});
    return 0;
}

}  // namespace
}  // namespace heddle::control

int main(int argc, char** argv) {
    heddle::control::CommandLine options;
    CLI::App app("Heddle: a virtual switch and router for containers, virtual machines and NICs");
    app.set_version_flag("--version", std::string("heddled ") + HEDDLE_VERSION);
    app.add_option("--socket", options.socket, "UNIX socket of the API")->capture_default_str();
    app.add_option("--group", options.group, "Group that may use the socket")
        ->capture_default_str();
    app.add_option("--state", options.state, "File that keeps the desired state")
        ->capture_default_str();
    app.add_option("--memory", options.memory_mib, "MiB for packet buffers and devices")
        ->check(CLI::Range(128u, 1u << 20))
        ->capture_default_str();
    app.add_option("--small-buffers", options.small_buffers, "Packet buffers of 2 KiB")
        ->check(CLI::Range(1024u, 1u << 24))
        ->capture_default_str();
    app.add_option("--large-buffers", options.large_buffers, "Packet buffers of 64 KiB")
        ->check(CLI::Range(128u, 1u << 20))
        ->capture_default_str();
    app.add_flag("--no-hugepages", options.no_hugepages,
                 "Use ordinary pages even if there are hugepages");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    try {
        return heddle::control::run(options);
    } catch (const std::exception& error) {
        return heddle::control::fail(error.what());
    }
}
