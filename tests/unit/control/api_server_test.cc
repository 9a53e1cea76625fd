#include "control/api_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <sys/stat.h>

#include <thread>

#include "api/heddle.grpc.pb.h"
#include "control/get_stream.h"
#include "control/watch_stream.h"
#include "support/fake_controller.h"
#include "support/temporary_directory.h"

namespace heddle::control {
namespace {

using ::testing::HasSubstr;

class ApiServerTest : public testing::Test {
 protected:
    void SetUp() override {
        auto claim = SocketClaim::take(path_);
        ASSERT_TRUE(claim.has_value()) << claim.error();
        auto server = ApiServer::start(controller_, std::move(*claim), "");
        ASSERT_TRUE(server.has_value()) << server.error();
        server_ = std::move(*server);
    }

    /// Each has a connection of its own.
    std::unique_ptr<v1::Heddle::Stub> connect() const {
        grpc::ChannelArguments arguments;
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        arguments.SetMaxReceiveMessageSize(-1);
        return v1::Heddle::NewStub(grpc::CreateCustomChannel(
            "unix:" + path_, grpc::InsecureChannelCredentials(), arguments));
    }

    /// All objects, and the sizes of the messages they came in.
    grpc::Status get(const v1::GetRequest& request, std::vector<v1::Object>& objects,
                     std::vector<size_t>& messages) const {
        const auto stub = connect();
        grpc::ClientContext context;
        const auto stream = stub->Get(&context, request);
        v1::GetResponse message;
        while (stream->Read(&message)) {
            messages.push_back(message.ByteSizeLong());
            objects.insert(objects.end(), message.objects().begin(), message.objects().end());
        }
        return stream->Finish();
    }

    const TemporaryDirectory directory_;
    const std::string path_ = directory_ / "socket";
    FakeController controller_;
    std::unique_ptr<ApiServer> server_;
};

TEST_F(ApiServerTest, SocketIsForOwnerAndGroup) {
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777U, 0660U);
}

TEST_F(ApiServerTest, SocketIsGoneAfterTheServer) {
    server_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_TRUE(SocketClaim::take(path_).has_value());
}

TEST_F(ApiServerTest, ApplyDeleteAndStatusReachTheController) {
    const auto stub = connect();
    v1::ApplyRequest apply;
    apply.mutable_topology()->add_networks()->set_name("blue");
    v1::ApplyResponse response;
    grpc::ClientContext first;
    ASSERT_TRUE(stub->Apply(&first, apply, &response).ok());
    ASSERT_EQ(response.changes_size(), 1);
    EXPECT_EQ(controller_.desired.networks_size(), 1);

    v1::DeleteRequest remove;
    remove.add_objects()->set_kind("network");
    remove.mutable_objects(0)->set_name("red");
    grpc::ClientContext second;
    ASSERT_TRUE(stub->Delete(&second, remove, &response).ok());
    EXPECT_EQ(response.problems_size(), 1);

    controller_.observed_status.set_version("7");
    v1::Status status;
    grpc::ClientContext third;
    ASSERT_TRUE(stub->GetStatus(&third, {}, &status).ok());
    EXPECT_EQ(status.version(), "7");
}

TEST_F(ApiServerTest, GetComesInFewMessagesOfBoundedSize) {
    constexpr int kEntries = 20000;
    for (int i = 0; i < kEntries; ++i) {
        controller_.observed.emplace_back().mutable_fdb_entry()->set_mac("02:00:00:00:00:01");
        controller_.observed.back().mutable_fdb_entry()->set_idle_seconds(static_cast<uint32_t>(i));
    }
    v1::GetRequest request;
    request.set_kind(v1::GetRequest::FDB);
    std::vector<v1::Object> objects;
    std::vector<size_t> messages;
    ASSERT_TRUE(get(request, objects, messages).ok());
    ASSERT_EQ(objects.size(), size_t{kEntries});
    for (int i = 0; i < kEntries; ++i) {
        ASSERT_EQ(objects[static_cast<size_t>(i)].fdb_entry().idle_seconds(),
                  static_cast<uint32_t>(i));
    }
    EXPECT_LT(messages.size(), 50U);
    EXPECT_THAT(messages, testing::Each(testing::Le(2 * GetStream::kMessageBytes)));
}

TEST_F(ApiServerTest, GetOfAnUnknownNameSaysSo) {
    v1::GetRequest request;
    request.set_kind(v1::GetRequest::PORTS);
    request.add_names("nobody");
    std::vector<v1::Object> objects;
    std::vector<size_t> messages;
    const grpc::Status status = get(request, objects, messages);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(status.error_message(), HasSubstr("nobody"));
}

TEST_F(ApiServerTest, AnswerBeyondTheBoundIsRefusedAndTheNextOneIsNot) {
    v1::Object& big = controller_.observed.emplace_back();
    for (int i = 0; i < 100; ++i)
        big.mutable_port()->add_offloads(std::string(1U << 20U, 'x'));
    for (int i = 0; i < 2; ++i)
        controller_.observed.push_back(controller_.observed[0]);
    v1::GetRequest request;
    request.set_kind(v1::GetRequest::PORTS);
    std::vector<v1::Object> objects;
    std::vector<size_t> messages;
    const grpc::Status status = get(request, objects, messages);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    controller_.observed.resize(1);
    EXPECT_TRUE(get(request, objects, messages).ok());
}

TEST_F(ApiServerTest, RequestBeyondTheBoundIsRefused) {
    v1::ApplyRequest request;
    request.mutable_topology()->add_networks()->set_name(std::string(9U << 20U, 'x'));
    v1::ApplyResponse response;
    grpc::ClientContext context;
    const grpc::Status status = connect()->Apply(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ApiServerTest, WatcherGetsEventsInOrder) {
    const auto stub = connect();
    grpc::ClientContext context;
    const auto stream = stub->Watch(&context, {});
    stream->WaitForInitialMetadata();
    for (int i = 0; i < 100; ++i) {
        v1::Event event;
        event.set_time_ns(static_cast<uint64_t>(i));
        controller_.publish(event);
    }
    v1::Event event;
    for (uint64_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(stream->Read(&event));
        ASSERT_EQ(event.time_ns(), i);
    }
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
    controller_.wait_for_subscribers(0);
}

TEST_F(ApiServerTest, SlowWatcherLosesEventsIsToldAndBlocksNobody) {
    const auto stub = connect();
    grpc::ClientContext context;
    const auto stream = stub->Watch(&context, {});
    stream->WaitForInitialMetadata();
    // More than the transport's windows and the queue can take, while nobody reads.
    constexpr uint64_t kEvents = 20000;
    v1::Event event;
    event.set_message(std::string(1000, 'x'));
    for (uint64_t i = 1; i <= kEvents; ++i) {
        event.set_time_ns(i);
        controller_.publish(event);
    }
    uint64_t received = 0;
    uint64_t lost = 0;
    while (received + lost < kEvents && stream->Read(&event)) {
        if (event.kind() == "lost") {
            lost += std::stoull(event.message());
        } else {
            ++received;
        }
    }
    EXPECT_EQ(received + lost, kEvents);
    EXPECT_GT(lost, 0U);
    EXPECT_GE(received, WatchStream::kQueue - 2);
    context.TryCancel();
}

TEST_F(ApiServerTest, WatchersAreBounded) {
    const auto stub = connect();
    std::vector<std::unique_ptr<v1::Heddle::Stub>> stubs;
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<std::unique_ptr<grpc::ClientReader<v1::Event>>> streams;
    for (size_t i = 0; i < WatchStream::kMaxWatchers; ++i) {
        if (i % 32 == 0) stubs.push_back(connect());
        contexts.push_back(std::make_unique<grpc::ClientContext>());
        streams.push_back(stubs.back()->Watch(contexts.back().get(), {}));
        streams.back()->WaitForInitialMetadata();
    }
    grpc::ClientContext context;
    const auto refused = stub->Watch(&context, {});
    EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    v1::Status status;
    grpc::ClientContext other;
    EXPECT_TRUE(stub->GetStatus(&other, {}, &status).ok()) << "watchers hold no thread";

    for (const auto& watcher : contexts)
        watcher->TryCancel();
    controller_.wait_for_subscribers(0);
}

TEST_F(ApiServerTest, WatchersDoNotDelayTheEnd) {
    const auto stub = connect();
    grpc::ClientContext context;
    const auto stream = stub->Watch(&context, {});
    stream->WaitForInitialMetadata();
    server_.reset();
    v1::Event event;
    EXPECT_FALSE(stream->Read(&event));
    controller_.wait_for_subscribers(0);
}

TEST(ApiServer, UnknownGroupIsOnlyAWarning) {
    const TemporaryDirectory directory;
    FakeController controller;
    auto claim = SocketClaim::take(directory / "socket");
    ASSERT_TRUE(claim.has_value());
    testing::internal::CaptureStderr();
    const auto server = ApiServer::start(controller, std::move(*claim), "no-such-group-here");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no such group"));
    EXPECT_TRUE(server.has_value());
}

}  // namespace
}  // namespace heddle::control
