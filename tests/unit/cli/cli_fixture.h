#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "api/text.h"
#include "cli/run.h"
#include "control/api_server.h"
#include "support/fake_controller.h"
#include "support/temporary_directory.h"

namespace heddle::cli {

/// The command line as a user has it, against a server whose controller is a fake.
class CliTest : public testing::Test {
 protected:
    void SetUp() override {
        auto claim = control::SocketClaim::take(socket_);
        ASSERT_TRUE(claim.has_value()) << claim.error();
        auto server = control::ApiServer::start(controller_, std::move(*claim), "");
        ASSERT_TRUE(server.has_value()) << server.error();
        server_ = std::move(*server);
    }

    /// What a command left behind.
    struct Outcome {
        int status;
        std::string out;
        std::string err;
    };

    Outcome run(std::vector<std::string> arguments, const std::string& input = "") {
        std::istringstream in(input);
        std::ostringstream out;
        std::ostringstream err;
        Environment environment{in, out, err, false, pause_};
        arguments.insert(arguments.begin(), {"--socket", socket_});
        const int status = cli::run(arguments, environment);
        return {status, out.str(), err.str()};
    }

    /// Makes a topology the desired state without the command line.
    void desire(const char* yaml) { controller_.desired = *api::parse<v1::Topology>(yaml); }

    std::string write_file(const std::string& name, const std::string& content) const {
        std::ofstream(directory_ / name) << content;
        return directory_ / name;
    }

    const TemporaryDirectory directory_;
    const std::string socket_ = directory_ / "socket";
    control::FakeController controller_;
    std::unique_ptr<control::ApiServer> server_;
    std::function<bool()> pause_ = [] { return false; };
};

}  // namespace heddle::cli
