#include "cli_fixture.h"

namespace heddle::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Get : public CliTest {
 protected:
    void SetUp() override {
        CliTest::SetUp();
        observe(
            "port: {name: web, driver: tap, network: blue, up: true, mtu: 1500, interface: eth0, "
            "offloads: [csum, tso4], vlans: [{vlan: 1, network: a}, {vlan: 2, network: b}, {vlan: "
            "3, "
            "network: c}], counters: {rx_frames: 12345678901234, tx_frames: 7, dropped: 5}, "
            "drops: [{reason: rx-runt, frames: 5, meaning: too short}], "
            "queues: [{queue: 0, worker: 1, load: 0.25}]}");
        observe("port: {name: db, driver: netdev, down_reason: interface db disappeared}");
        observe("network: {name: blue, ports: 2, fdb_entries: 3, fdb_limit: 16384}");
        observe(
            "fdb_entry: {network: blue, mac: 02:00:00:00:00:01, port: web, vlan: 7, idle_seconds: "
            "90}");
        observe("fdb_entry: {network: blue, mac: 02:00:00:00:00:02, port: db, is_static: true}");
        observe("worker: {worker: 0, busy: 0.125, sleeping: true, frames: 10, thread_id: 42}");
    }

    void observe(const char* yaml) {
        auto object = api::parse<v1::Object>(yaml);
        ASSERT_TRUE(object.has_value()) << object.error()[0].message();
        controller_.observed.push_back(std::move(*object));
    }
};

TEST_F(Get, PortsAsTable) {
    const Outcome outcome = run({"get", "ports"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(
        outcome.out,
        "NAME  DRIVER  NETWORK  VLANS          RX  TX  DROPPED  STATE\n"
        "web   tap     blue     1:a,2:b,+1  12.3T   7        5  up\n"
        "db    netdev  -        -               0   0        0  down: interface db disappeared\n");
}

TEST_F(Get, WidePortsHaveAllCountersAndDropsByReason) {
    const std::string out = run({"get", "port", "web", "-o", "wide"}).out;
    for (const char* part : {"REPLICATED", "CONSUMED", "MISSED", "TX-PACKETS", "csum,tso4",
                             "rx-runt 5", "0@w1 25.0%", "1:a,2:b,3:c"}) {
        EXPECT_THAT(out, HasSubstr(part));
    }
    EXPECT_THAT(out, Not(HasSubstr("netdev")));
}

TEST_F(Get, JsonIsExactAndAlwaysAList) {
    const Outcome outcome = run({"get", "p", "web", "-o", "json"});
    EXPECT_THAT(outcome.out, HasSubstr("\"rx_frames\": 12345678901234"));
    EXPECT_EQ(outcome.out[0], '[');
    EXPECT_EQ(run({"get", "workers", "-o", "yaml"}).out,
              "- busy: 0.125\n  sleeping: true\n  frames: 10\n  thread_id: 42\n");
}

TEST_F(Get, NetworksFdbAndWorkers) {
    EXPECT_EQ(run({"get", "net"}).out,
              "NAME  PORTS  FDB  LIMIT  LIMIT-HITS  MOVES\n"
              "blue      2    3  16384           0      0\n");
    EXPECT_EQ(run({"get", "fdb", "blue"}).out,
              "NETWORK  MAC                PORT  VLAN    IDLE\n"
              "blue     02:00:00:00:00:01  web      7  1m 30s\n"
              "blue     02:00:00:00:00:02  db       -  static\n");
    EXPECT_THAT(run({"get", "workers"}).out, HasSubstr("12.5%"));
}

TEST_F(Get, TopologyIsADocumentThatCanBeApplied) {
    desire("networks: [{name: blue}]\nports: [{name: web, tap: {}}]");
    const std::string yaml = run({"get", "topology"}).out;
    EXPECT_EQ(yaml, "networks:\n  - name: blue\nports:\n  - name: web\n    tap: {}\n");
    EXPECT_EQ(run({"apply", "-f", "-"}, yaml).out, "network blue unchanged\nport web unchanged\n");
    EXPECT_EQ(run({"apply", "-f", "-"}, run({"get", "topology", "-o", "json"}).out).out,
              "network blue unchanged\nport web unchanged\n");
}

TEST_F(Get, StatusForPrograms) {
    controller_.observed_status.set_pid(17);
    EXPECT_EQ(run({"status", "-o", "json"}).out, "{\n  \"pid\": 17\n}\n");
    EXPECT_EQ(run({"status", "-o", "yaml"}).out, "pid: 17\n");
}

TEST_F(Get, UnknownNameIsARefusal) {
    const Outcome outcome = run({"get", "ports", "nobody"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, "heddle: nothing is named \"nobody\"\n");
}

TEST_F(Get, WrongUsage) {
    EXPECT_EQ(run({"get"}).status, 2);
    EXPECT_EQ(run({"get", "ports", "-o", "xml"}).status, 2);
    EXPECT_EQ(run({"get", "workers", "0"}).status, 2);
    const Outcome outcome = run({"get", "prots"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("did you mean \"ports\"?"));
}

TEST_F(Get, DropsAsTable) {
    EXPECT_EQ(run({"drops"}).out,
              "PORT  REASON   FRAMES  MEANING\n"
              "web   rx-runt       5  too short\n");
    controller_.observed.clear();
    EXPECT_EQ(run({"drops"}).out, "No frame was dropped.\n");
}

TEST_F(Get, WatchedDropsHaveRates) {
    int left = 3;
    pause_ = [&] {
        v1::PortState& port = *controller_.observed[0].mutable_port();
        port.mutable_drops(0)->set_frames(port.drops(0).frames() + 1'000'000'000);
        return left-- > 0;
    };
    const Outcome outcome = run({"drops", "--watch"});
    EXPECT_EQ(outcome.status, 0);
    size_t tables = 0;
    for (size_t at = outcome.out.find("PER SECOND"); at != std::string::npos;
         at = outcome.out.find("PER SECOND", at + 1)) {
        ++tables;
    }
    EXPECT_EQ(tables, 3U);
    EXPECT_THAT(outcome.out, HasSubstr("1.00G"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b"))) << "not a terminal";
}

TEST_F(Get, Status) {
    controller_.observed_status = *api::parse<v1::Status>(
        "{version: 0.1.0, pid: 17, uptime_seconds: 3700, workers: 2, ports_up: 1, ports_down: 1, "
        "totals: {rx_frames: 20000, dropped: 5}, drops: [{reason: rx-runt, frames: 5, meaning: too "
        "short}], "
        "warnings: ['port db is down']}");
    const Outcome outcome = run({"status"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const char* part :
         {"version   0.1.0\n", "uptime    1h 1m\n", "ports     1 up, 1 down\n",
          "received  20.0k frames", "rx-runt: too short", "warning: port db is down"}) {
        EXPECT_THAT(outcome.out, HasSubstr(part));
    }
}

}  // namespace
}  // namespace heddle::cli
