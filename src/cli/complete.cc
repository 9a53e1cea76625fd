#include "cli/complete.h"

#include <algorithm>
#include <chrono>

#include "cli/client.h"
#include "cli/kinds.h"
#include "cli/output.h"
#include "cli/run.h"

namespace heddle::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

std::string name_of(const v1::Object& object) {
    if (object.has_port()) return object.port().name();
    if (object.has_router()) return object.router().name();
    return object.network().name();
}

/// Some objects have no names of their own and are selected by those of others.
v1::GetRequest::Kind whose_names(v1::GetRequest::Kind kind) {
    switch (kind) {
        case v1::GetRequest::FDB:
        case v1::GetRequest::NEIGHBORS:
            return v1::GetRequest::NETWORKS;
        case v1::GetRequest::ROUTES:
        case v1::GetRequest::NEXT_HOPS:
            return v1::GetRequest::ROUTERS;
        default:
            return kind;
    }
}

std::vector<std::string> names_from_daemon(v1::GetRequest::Kind kind, const std::string& socket) {
    const auto client = Client::connect(socket);
    if (!client) return {};
    v1::GetRequest request;
    request.set_kind(whose_names(kind));
    const auto objects = client->get(request, kPatience);
    if (!objects) return {};
    std::vector<std::string> names;
    for (const v1::Object& object : *objects)
        names.push_back(name_of(object));
    return names;
}

std::vector<std::string> kind_names(bool deletable) {
    std::vector<std::string> names;
    for (const Kind& kind : kinds()) {
        if (!deletable || !kind.desired.empty()) names.emplace_back(kind.name);
    }
    return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* const option : command.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

/// A command line up to the word that is to be completed.
class Line {
 public:
    Line(const std::vector<std::string>& words, std::string socket)
        : socket_(std::move(socket)), session_{environment_}, app_(make_app(session_)) {
        for (size_t i = 0; i + 1 < words.size(); ++i)
            take(words[i]);
    }

    std::vector<std::string> candidates(const std::string& beginning) const {
        if (option_ != nullptr) return values_of(*option_);
        if (beginning.starts_with('-')) {
            auto names = option_names(*app_);
            if (command_ != nullptr) {
                for (std::string& name : option_names(*command_))
                    names.push_back(std::move(name));
            }
            return names;
        }
        return command_ == nullptr ? command_names() : positional();
    }

 private:
    void take(const std::string& word) {
        if (option_ != nullptr) {
            if (option_->check_lname("socket")) socket_ = word;
            option_ = nullptr;
        } else if (word.starts_with('-')) {
            option_ = option_with_value(word);
        } else if (command_ == nullptr) {
            command_ = command_named(word);
        } else {
            positionals_.push_back(word);
        }
    }

    const CLI::App* command_named(const std::string& word) const {
        for (const CLI::App* command : app_->get_subcommands({})) {
            if (command->get_name() == word) return command;
        }
        return nullptr;
    }

    const CLI::Option* option_with_value(const std::string& word) const {
        const CLI::Option* option =
            command_ == nullptr ? nullptr : command_->get_option_no_throw(word);
        if (option == nullptr) option = app_->get_option_no_throw(word);
        return option != nullptr && option->get_items_expected_max() > 0 ? option : nullptr;
    }

    static std::vector<std::string> values_of(const CLI::Option& option) {
        if (option.check_lname("output")) return {std::begin(kFormats), std::end(kFormats)};
        return {};  // a file
    }

    std::vector<std::string> command_names() const {
        std::vector<std::string> names;
        for (const CLI::App* command : app_->get_subcommands({}))
            names.push_back(command->get_name());
        return names;
    }

    std::vector<std::string> positional() const {
        const std::string& command = command_->get_name();
        if (command == "completion") return {"bash"};
        if (command == "drops") return names_from_daemon(v1::GetRequest::PORTS, socket_);
        if (command == "lookup" || command == "update-routes") {
            if (!positionals_.empty()) return {};
            return names_from_daemon(v1::GetRequest::ROUTERS, socket_);
        }
        if (command != "get" && command != "delete") return {};
        const bool deletable = command == "delete";
        if (positionals_.empty()) return kind_names(deletable);
        const auto kind = find_kind(positionals_[0], deletable);
        if (!kind || !(*kind)->has_names) return {};
        return names_from_daemon((*kind)->request, socket_);
    }

    std::string socket_;
    std::istream no_input_{nullptr};
    std::ostream no_output_{nullptr};
    Environment environment_{no_input_, no_output_, no_output_, false, {}};
    Session session_;
    std::unique_ptr<CLI::App> app_;

    const CLI::App* command_ = nullptr;
    const CLI::Option* option_ = nullptr;  // whose value comes next
    std::vector<std::string> positionals_;
};

}  // namespace

std::vector<std::string> complete(const std::vector<std::string>& words,
                                  const std::string& socket) {
    const std::string beginning = words.empty() ? "" : words.back();
    std::vector<std::string> candidates = Line(words, socket).candidates(beginning);
    std::erase_if(candidates,
                  [&](const std::string& word) { return !word.starts_with(beginning); });
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    return candidates;
}

}  // namespace heddle::cli
