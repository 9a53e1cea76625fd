#pragma once

#include <memory>
#include <string>

#include "model/topology.h"
#include "port/port.h"

namespace heddle::control {

/// Opens the device a port asks for.
port::Result<std::unique_ptr<port::Port>> open_device(const model::Port& wanted,
                                                      const packet::Pools& pools);

/// What only one port can have at a time: the Linux interface or the DPDK device. Two ports of
/// equal identity contend for one device.
std::string device_identity(const model::Device& device);

/// Whether the Linux device of a persistent tap is to stay when the port is opened anew.
bool continues(const model::Device& from, const model::Device& to);

/// For the operator: "eth0 in c1", "veth1", "net_null0".
std::string device_name(const model::Device& device);

/// The Linux interface in the daemon's own namespace that carries the device; empty if there is
/// none.
std::string interface_of(const model::Device& device);

/// What was asked for, or what the open device has.
uint16_t effective_mtu(const model::Port& wanted, const port::Port& device);

/// Whether going from one to the other needs a new device; else the open one is adjusted.
bool needs_reopening(const model::Port& from, const model::Port& to);

}  // namespace heddle::control
