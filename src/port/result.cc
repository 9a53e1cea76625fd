#include "port/result.h"

#include <system_error>

namespace heddle::port {

std::string error_text(int error) {
    return std::generic_category().message(error);
}

}  // namespace heddle::port
