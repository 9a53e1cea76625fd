#include <memory>

#include "cli/commands.h"

namespace heddle::cli {
namespace {

/// All knowledge is in `heddle __complete`, so that the script fits every version.
constexpr const char* kBashScript = R"(# bash completion of heddle: source <(heddle completion bash)
_heddle() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _heddle heddle
)";

Result<void> print_script(Session& session, const std::string& shell) {
    if (shell != "bash") return unable("bash is the only shell with a completion script");
    session.environment.out << kBashScript;
    return {};
}

}  // namespace

void add_completion(CLI::App& app, Session& session) {
    const auto shell = std::make_shared<std::string>();
    CLI::App* const command =
        app.add_subcommand("completion", "Print a script for the shell to load");
    command->add_option("SHELL", *shell, "bash")->required();
    command->callback([=, &session] {
        session.command = [=, &session] { return print_script(session, *shell); };
    });
}

}  // namespace heddle::cli
