/* Force-included everywhere: calls that overflow or guess do not compile. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H
#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef strcpy
#undef strcat
#undef strncpy
#undef strtok
#undef sprintf
#undef vsprintf
#undef atoi
#undef atol
#undef atof
#undef gets
#pragma GCC poison strcpy strcat strncpy strtok sprintf vsprintf atoi atof gets
/* Only as a call: atol is also the absolute tolerance of a task. */
#define atol(text) atol_is_banned_use_num_i64
#endif
#endif
