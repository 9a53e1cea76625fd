#include "cli/run.h"

#include <cstdlib>

#include "api/quote.h"
#include "cli/complete.h"

namespace heddle::cli {
namespace {

/// For the script of `heddle completion bash`; not for people, hence not in the help.
constexpr const char* kComplete = "__complete";

int print_completions(const std::vector<std::string>& words, Environment& environment) {
    const char* const socket =
        std::getenv("HEDDLE_SOCKET");  // NOLINT(concurrency-mt-unsafe): one thread
    for (const std::string& candidate :
         complete(words, socket != nullptr ? socket : kDefaultSocket)) {
        environment.out << candidate << '\n';
    }
    return kDone;
}

}  // namespace

std::unique_ptr<CLI::App> make_app(Session& session) {
    auto app = std::make_unique<CLI::App>(
        "heddle: configure and observe the Heddle data plane\n\n"
        "Exit status: 0 done, 1 refused, 2 wrong usage or heddled does not answer.",
        "heddle");
    app->require_subcommand(1);
    app->fallthrough();  // so that --socket can stand behind the command, too
    app->set_version_flag("--version", std::string("heddle ") + HEDDLE_VERSION);
    app->add_option("--socket", session.socket, "UNIX socket of heddled")
        ->envname("HEDDLE_SOCKET")
        ->capture_default_str()
        ->type_name("PATH");
    for (const auto add : {add_apply, add_delete, add_get, add_lookup, add_update_routes,
                           add_status, add_drops, add_watch, add_completion}) {
        add(*app, session);
    }
    return app;
}

int run(const std::vector<std::string>& arguments, Environment& environment) {
    if (!arguments.empty() && arguments[0] == kComplete) {
        return print_completions({arguments.begin() + 1, arguments.end()}, environment);
    }
    Session session{environment};
    const auto app = make_app(session);
    try {
        app->parse(std::vector<std::string>(arguments.rbegin(),
                                            arguments.rend()));  // CLI11 wants them in reverse
    } catch (const CLI::ParseError& error) {
        return app->exit(error, environment.out, environment.err) == 0 ? kDone : kUnable;
    }
    const Result<void> result = session.command();
    if (!result) {
        if (!result.error().message.empty())
            environment.err << "heddle: " << api::printable(result.error().message) << '\n';
        return result.error().status;
    }
    // A full disk or a closed pipe: a script must not take half an answer for a whole one.
    environment.out.flush();
    if (!environment.out) {
        environment.err << "heddle: the output could not be written\n";
        return kUnable;
    }
    return kDone;
}

}  // namespace heddle::cli
