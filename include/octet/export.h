// Symbols that the shared library exposes; everything else is hidden.
#pragma once

#define OCTET_API __attribute__((visibility("default")))
