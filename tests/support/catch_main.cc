// Catch2 2.x compiles its runner once, here.
#define CATCH_CONFIG_MAIN
#include "tests/support/catch.h"
