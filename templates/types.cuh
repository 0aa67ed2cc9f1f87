// Fixed-width names. Generated source includes no toolkit header.
#pragma once

#if !OCTET_RENDERED
#include "sample/config.h"  // so that this folder compiles as it is, in an editor or with nvcc
#endif

namespace octet {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8, "the ABI of kernel parameters depends on these");

}  // namespace octet
