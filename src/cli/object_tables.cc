#include "cli/object_tables.h"

#include <fmt/format.h>

#include <string>

#include "cli/human.h"
#include "cli/table.h"

namespace heddle::cli {
namespace {

/// "100:red,200:blue" of the first few.
std::string vlans(const v1::PortState& port, int most) {
    std::string text;
    for (int i = 0; i < std::min(port.vlans_size(), most); ++i) {
        text += fmt::format("{}{}:{}", i == 0 ? "" : ",", port.vlans(i).vlan(),
                            port.vlans(i).network());
    }
    if (port.vlans_size() > most) text += fmt::format(",+{}", port.vlans_size() - most);
    return text;
}

std::string state(const v1::PortState& port) {
    if (port.up()) return "up";
    return port.down_reason().empty() ? "down" : "down: " + port.down_reason();
}

std::string queues(const v1::PortState& port) {
    std::string text;
    for (const v1::QueueState& queue : port.queues()) {
        text +=
            fmt::format("{}{}@w{} {}{}", text.empty() ? "" : ", ", queue.queue(), queue.worker(),
                        human_share(queue.load()), queue.spread() ? " spread" : "");
    }
    return text;
}

std::string drops(const v1::PortState& port) {
    std::string text;
    for (const v1::DropCount& drop : port.drops()) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", drop.reason(),
                            human_count(drop.frames()));
    }
    return text;
}

}  // namespace

void print_ports(const std::vector<v1::Object>& objects, bool wide, std::ostream& out) {
    std::vector<Table::Column> columns = {{"NAME"},     {"DRIVER"},   {"NETWORK"},      {"VLANS"},
                                          {"RX", true}, {"TX", true}, {"DROPPED", true}};
    if (wide) {
        for (const char* heading :
             {"RX-BYTES", "TX-BYTES", "TX-PACKETS", "REPLICATED", "CONSUMED", "MISSED", "MTU"}) {
            columns.push_back({heading, true});
        }
        for (const char* heading : {"INTERFACE", "OFFLOADS", "QUEUES", "DROPS"})
            columns.push_back({heading});
    }
    columns.push_back({"STATE"});  // last, for a reason can be long

    Table table(columns);
    for (const v1::Object& object : objects) {
        const v1::PortState& port = object.port();
        const v1::PortCounters& counters = port.counters();
        std::vector<std::string> row = {port.name(),
                                        port.driver(),
                                        port.network(),
                                        vlans(port, wide ? port.vlans_size() : 2),
                                        human_count(counters.rx_frames()),
                                        human_count(counters.tx_frames()),
                                        human_count(counters.dropped())};
        if (wide) {
            for (const uint64_t count :
                 {counters.rx_bytes(), counters.tx_bytes(), counters.tx_packets(),
                  counters.replicated(), counters.consumed(), counters.rx_missed()}) {
                row.push_back(human_count(count));
            }
            row.push_back(fmt::to_string(port.mtu()));
            row.push_back(port.interface());
            row.push_back(fmt::format("{}", fmt::join(port.offloads(), ",")));
            row.push_back(queues(port));
            row.push_back(drops(port));
        }
        row.push_back(state(port));
        table.add(std::move(row));
    }
    table.print(out);
}

void print_networks(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table({{"NAME"},
                 {"PORTS", true},
                 {"FDB", true},
                 {"LIMIT", true},
                 {"LIMIT-HITS", true},
                 {"MOVES", true}});
    for (const v1::Object& object : objects) {
        const v1::NetworkState& network = object.network();
        table.add({network.name(), fmt::to_string(network.ports()),
                   fmt::to_string(network.fdb_entries()), fmt::to_string(network.fdb_limit()),
                   human_count(network.fdb_limit_hits()), human_count(network.fdb_moves())});
    }
    table.print(out);
}

void print_fdb(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table({{"NETWORK"}, {"MAC"}, {"PORT"}, {"VLAN", true}, {"IDLE", true}});
    for (const v1::Object& object : objects) {
        const v1::FdbEntry& entry = object.fdb_entry();
        table.add({entry.network(), entry.mac(), entry.port(),
                   entry.vlan() == 0 ? "" : fmt::to_string(entry.vlan()),
                   entry.is_static() ? "static" : human_duration(entry.idle_seconds())});
    }
    table.print(out);
}

void print_routers(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table(
        {{"NAME"}, {"MAC"}, {"INTERFACES", true}, {"IPV4-ROUTES", true}, {"IPV6-ROUTES", true}});
    for (const v1::Object& object : objects) {
        const v1::RouterState& router = object.router();
        table.add({router.name(), router.mac(), fmt::to_string(router.interfaces()),
                   human_count(router.routes_ipv4()), human_count(router.routes_ipv6())});
    }
    table.print(out);
}

void print_routes(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table({{"ROUTER"}, {"PREFIX"}, {"SOURCE"}, {"DISTANCE", true}, {"NEXT-HOP"}, {"STATE"}});
    for (const v1::Object& object : objects) {
        const v1::RouteState& route = object.route();
        table.add({route.router(), route.prefix(), route.protocol(),
                   fmt::to_string(route.distance()), route.next_hop(),
                   route.active() ? "active" : "standby"});
    }
    table.print(out);
}

void print_neighbors(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table({{"NETWORK"}, {"ADDRESS"}, {"MAC"}, {"STATE"}, {"IDLE", true}, {"WAITING", true}});
    for (const v1::Object& object : objects) {
        const v1::NeighborState& neighbor = object.neighbor();
        table.add({neighbor.network(), neighbor.address(), neighbor.mac(), neighbor.state(),
                   human_duration(neighbor.idle_seconds()), fmt::to_string(neighbor.waiting())});
    }
    table.print(out);
}

void print_next_hops(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table({{"ID", true}, {"ROUTER"}, {"KIND"}, {"ROUTES", true}, {"DETAIL"}});
    for (const v1::Object& object : objects) {
        const v1::NextHopState& next_hop = object.next_hop();
        table.add({fmt::to_string(next_hop.id()), next_hop.router(), next_hop.kind(),
                   human_count(next_hop.routes()), next_hop.detail()});
    }
    table.print(out);
}

void print_workers(const std::vector<v1::Object>& objects, std::ostream& out) {
    Table table({{"WORKER", true},
                 {"BUSY", true},
                 {"FRAMES", true},
                 {"HANDED-OVER", true},
                 {"CYCLES/FRAME", true},
                 {"QUEUES", true},
                 {"WAKEUPS", true},
                 {"THREAD", true},
                 {"STATE"}});
    for (const v1::Object& object : objects) {
        const v1::WorkerState& worker = object.worker();
        table.add({fmt::to_string(worker.worker()), human_share(worker.busy()),
                   human_count(worker.frames()), human_count(worker.handed_over()),
                   fmt::format("{:.0f}", worker.cycles_per_frame()),
                   fmt::to_string(worker.queues()), human_count(worker.wakeups()),
                   fmt::to_string(worker.thread_id()), worker.sleeping() ? "sleeping" : "polling"});
    }
    table.print(out);
}

}  // namespace heddle::cli
