#pragma once

#include <filesystem>
#include <optional>

#include "api/heddle.pb.h"
#include "port/result.h"

namespace heddle::control {

/// The desired state on disk, so that a restart comes back as it was.
///
/// One line `heddle-state FORMAT CRC32C LENGTH`, then LENGTH bytes of YAML for a person to read.
/// The file is replaced as a whole or not at all, also if power fails; what is torn, truncated,
/// changed by hand or of another program is refused, never half read.
///
/// One thread at a time; one daemon per file, which the claim of the API's socket ensures.
class StateFile {
 public:
    explicit StateFile(std::filesystem::path path) : path_(std::move(path)) {}

    /// Nothing if there is no file: the daemon starts for the first time.
    port::Result<std::optional<v1::Topology>> load() const;

    /// After an error the file is still a whole one, nearly always the old one. Makes the directory
    /// if it is missing.
    port::Result<void> save(const v1::Topology& topology) const;

 private:
    std::filesystem::path path_;
};

}  // namespace heddle::control
