#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace heddle::model {

/// How two messages of one type differ, for a person: one entry per field, such as
/// "mtu: 1500 -> 9000", "device: tap -> netdev", "vlans: +100:red -200:blue". Empty if they are
/// equal.
std::vector<std::string> difference(const google::protobuf::Message& before,
                                    const google::protobuf::Message& after);

}  // namespace heddle::model
