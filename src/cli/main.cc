// heddle, the command line of heddled.

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "cli/run.h"

int main(int argc, char** argv) {
    heddle::cli::Environment environment{
        .in = std::cin,
        .out = std::cout,
        .err = std::cerr,
        .out_is_terminal = isatty(STDOUT_FILENO) == 1,
        .pause =
            [] {
                std::this_thread::sleep_for(std::chrono::seconds(1));
                return true;  // until the signal of Ctrl-C
            },
    };
    return heddle::cli::run({argv + 1, argv + argc}, environment);
}
