/* stats/inference/student.h - Student's distribution, for intervals and tests of means.
 * Degrees of freedom need not be whole. */
#ifndef AS_STATS_INFERENCE_STUDENT_H
#define AS_STATS_INFERENCE_STUDENT_H

/* The chance of a value at least as far from 0 as `t`, on either side. NaN unless degrees > 0. */
double as_student_two_sided(double t, double degrees);

/* The value that a share `level` (0 to 1, without them) lies nearer to 0 than, on both sides: 2.262
 * for 0.95 and 9 degrees. NaN for anything else. */
double as_student_point(double level, double degrees);

#endif
