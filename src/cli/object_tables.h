#pragma once

#include <ostream>
#include <vector>

#include "api/heddle.pb.h"

namespace heddle::cli {

/// The objects of one kind as a table; `wide` adds what does not fit a terminal of 80 columns.
void print_ports(const std::vector<v1::Object>& objects, bool wide, std::ostream& out);
void print_networks(const std::vector<v1::Object>& objects, std::ostream& out);
void print_fdb(const std::vector<v1::Object>& objects, std::ostream& out);
void print_routers(const std::vector<v1::Object>& objects, std::ostream& out);
void print_routes(const std::vector<v1::Object>& objects, std::ostream& out);
void print_neighbors(const std::vector<v1::Object>& objects, std::ostream& out);
void print_next_hops(const std::vector<v1::Object>& objects, std::ostream& out);
void print_workers(const std::vector<v1::Object>& objects, std::ostream& out);

}  // namespace heddle::cli
