/* preload/clean_environment.h - takes what brought us here out of the program's environment.
 * Works on the array that main() will see, in place, before anybody has read it. */
#ifndef AS_PRELOAD_CLEAN_ENVIRONMENT_H
#define AS_PRELOAD_CLEAN_ENVIRONMENT_H

/* The value of a variable in `env`; NULL: there is none. Borrowed. */
const char *as_environment_value(char *const *env, const char *name);

/* Without our two variables, and without the library at `own_path` in LD_PRELOAD; what others put
 * there stays as it was. */
void as_environment_clean(char **env, const char *own_path);

#endif
