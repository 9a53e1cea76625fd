#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "support/dpdk.h"

namespace heddle::test {

/// Sets up EAL and pools before the first test of any binary that includes this header.
class EalEnvironment : public ::testing::Environment {
 public:
    void SetUp() override { pools_.emplace(make_pools()); }
    void TearDown() override { pools_.reset(); }
    static const packet::Pools& pools() { return *pools_; }

 private:
    inline static std::optional<packet::Pools> pools_;
};

inline ::testing::Environment* const kEalEnvironment =
    ::testing::AddGlobalTestEnvironment(new EalEnvironment);

/// A test that handles buffers: it fails if it does not give all of them back. Those in members of
/// the fixture are given back in time, since they go before their base.
class PoolTest : public ::testing::Test {
 protected:
    ~PoolTest() override { EXPECT_EQ(pools().in_use(), in_use_) << "leaked buffers"; }
    static const packet::Pools& pools() { return EalEnvironment::pools(); }

 private:
    const uint32_t in_use_ = pools().in_use();
};

}  // namespace heddle::test
