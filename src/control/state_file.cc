#include "control/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "api/text.h"
#include "control/crc32c.h"
#include "port/file_descriptor.h"

namespace heddle::control {
namespace {

using port::error_text;
using port::FileDescriptor;
using port::Result;

constexpr std::string_view kMagic = "heddle-state ";
constexpr unsigned kFormat = 1;
constexpr size_t kMaxHeader = 64;
constexpr mode_t kMode = 0640;

tl::unexpected<std::string> refuse(std::string what) {
    return tl::unexpected(std::move(what));
}

std::string header(std::string_view body) {
    return fmt::format("{}{} {:08x} {}\n", kMagic, kFormat, crc32c(body), body.size());
}

/// The body of a file, if the header says it is whole and ours.
Result<std::string_view> unwrap(std::string_view content) {
    if (!content.starts_with(kMagic)) return refuse("is not a state file of heddled");
    const std::string_view first_line = content.substr(0, content.find('\n'));
    const std::string_view fields = first_line.substr(kMagic.size());
    if (!fields.starts_with(fmt::format("{} ", kFormat))) {
        return refuse(
            fmt::format("has another format than {}, the only one this version knows: "
                        "was it written by a newer heddled?",
                        kFormat));
    }
    if (first_line.size() == content.size()) return refuse("is truncated in its first line");
    const std::string_view body = content.substr(first_line.size() + 1);
    // Compared as text: there is no second way to write the right header.
    if (content.substr(0, first_line.size() + 1) != header(body)) {
        return refuse(
            "is damaged or was changed by hand: its length or checksum is not what its first line "
            "says");
    }
    return body;
}

/// Somebody who is not allowed to change the network must not do so by way of the file.
Result<void> check_owner(const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return refuse("is no regular file");
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        return refuse(fmt::format("belongs to user {}, not to the daemon's", status.st_uid));
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return refuse(fmt::format("may be written by others than its owner (mode {:04o})",
                                  status.st_mode & 07777U));
    }
    return {};
}

Result<std::string> read_all(int fd, size_t size) {
    std::string content(size, '\0');
    size_t done = 0;
    while (done < size) {
        const ssize_t got = read(fd, content.data() + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return refuse("cannot be read: " + error_text());
        if (got == 0) break;
        done += static_cast<size_t>(got);
    }
    content.resize(done);
    return content;
}

Result<v1::Topology> read_state(int fd) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return refuse("cannot be examined: " + error_text());
    if (auto owner = check_owner(status); !owner) return refuse(owner.error());
    const auto size = static_cast<size_t>(status.st_size);
    if (size > api::Document::kMaxBytes + kMaxHeader) return refuse("is too large");

    const auto content = read_all(fd, size);
    if (!content) return refuse(content.error());
    const auto body = unwrap(*content);
    if (!body) return refuse(body.error());
    auto topology = api::parse<v1::Topology>(*body);
    if (!topology) {
        const v1::Problem& first = topology.error().front();
        return refuse(
            fmt::format("is whole, but not understood (was it written by a newer "
                        "heddled?): line {}: {}: {}",
                        first.line() + 1, first.path(), first.message()));
    }
    return std::move(*topology);
}

Result<void> write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t done = write(fd, text.data(), text.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return refuse("write: " + error_text());
        text.remove_prefix(static_cast<size_t>(done));
    }
    return {};
}

Result<void> write_durably(const std::filesystem::path& path, std::string_view text) {
    unlink(path.c_str());  // left by a daemon that was killed here
    const FileDescriptor file(open(
        path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file) return refuse("create: " + error_text());
    if (auto written = write_all(file.get(), text); !written) return written;
    if (fchmod(file.get(), kMode) != 0) return refuse("set mode: " + error_text());
    if (fsync(file.get()) != 0) return refuse("fsync: " + error_text());
    return {};
}

/// The new name is as durable as the content only once its directory is on disk.
Result<void> sync_directory(const std::filesystem::path& path) {
    const FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || fsync(directory.get()) != 0) {
        return refuse("fsync of the directory: " + error_text());
    }
    return {};
}

/// Whether load() will take the text. Limits are far away for most texts: a value counts for at
/// most four times its bytes.
bool is_readable(std::string_view body) {
    return body.size() <= api::Document::kMaxWeight / 4 || api::Document::parse(body).has_value();
}

Result<void> replace(const std::filesystem::path& path, const v1::Topology& topology) {
    const std::string body =
        "# The desired state of heddled, which writes it and trusts no other hand. To change it:\n"
        "# heddle get topology -o yaml > FILE; edit FILE; heddle apply --replace -f FILE\n" +
        api::to_yaml(topology);
    if (!is_readable(body)) return refuse("the topology is too large");

    std::error_code error;
    const std::filesystem::path directory = std::filesystem::absolute(path).parent_path();
    std::filesystem::create_directories(directory, error);
    if (error) return refuse("make the directory: " + error.message());

    std::filesystem::path temporary = path;
    temporary += ".new";
    auto written = write_durably(temporary, header(body) + body);
    if (written && rename(temporary.c_str(), path.c_str()) != 0) {
        written = refuse("rename: " + error_text());
    }
    if (!written) {
        unlink(temporary.c_str());
        return written;
    }
    return sync_directory(directory);
}

}  // namespace

Result<std::optional<v1::Topology>> StateFile::load() const {
    const auto about_file = [&](const std::string& what) {
        return refuse(fmt::format("{} {}", path_.string(), what));
    };
    const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) {
        if (errno == ENOENT) return std::nullopt;
        return about_file("cannot be opened: " + error_text());
    }
    auto topology = read_state(file.get());
    if (!topology) return about_file(topology.error());
    return std::move(*topology);
}

Result<void> StateFile::save(const v1::Topology& topology) const {
    return replace(path_, topology).map_error([&](const std::string& what) {
        return fmt::format("{} cannot be written: {}", path_.string(), what);
    });
}

}  // namespace heddle::control
