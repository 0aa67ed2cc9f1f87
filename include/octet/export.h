// Symbols that the shared library exposes; everything else is hidden.
#pragma once

#if defined(OCTET_STATIC)
#define OCTET_API
#else
#define OCTET_API __attribute__((visibility("default")))
#endif
