/* assay/assay.h - every public header but those of assay/experiment/: start here.
 *
 *     #include <assay/assay.h>
 *
 * | header         | job                                                                       |
 * |----------------|---------------------------------------------------------------------------|
 * | session.h      | record what a program does into a run file (libassay-trace or libassay)   |
 * | scope.h        | mark layers, iterations and phases for that recording                     |
 * | lock.h         | mark locks: how long threads wait for them and hold them                  |
 * | manager.h      | profile a program from inside and read the results in C                   |
 * | measure.h      | latency, memory and roofline of a function or a model                     |
 * | model.h        | describe, open and count a neural network                                 |
 * | memory.h       | memory of the process, and memory the program accounts for                |
 * | power.h        | power over time and energy                                                |
 * | latency.h      | percentiles of latency records                                            |
 * | leaks.h        | leak detector                                                             |
 * | bottlenecks.h  | which layers limit a program, and why                                     |
 * | anomaly.h      | values that do not belong to those before them                            |
 * | compare.h      | backends compared layer by layer                                          |
 * | distributed.h  | ranks of a training job compared                                          |
 *
 * The headers of assay/experiment/ (attention as a workload, quality, witnesses, bundles) need
 * -lassay-experiment -lassay. All but session.h, scope.h and lock.h need -lassay. Programs that
 * only record include <assay/session.h> and link with -lassay-trace. */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <assay/anomaly.h>
#include <assay/bottlenecks.h>
#include <assay/compare.h>
#include <assay/distributed.h>
#include <assay/error.h>
#include <assay/finding.h>
#include <assay/latency.h>
#include <assay/leaks.h>
#include <assay/lock.h>
#include <assay/manager.h>
#include <assay/measure.h>
#include <assay/memory.h>
#include <assay/model.h>
#include <assay/power.h>
#include <assay/scope.h>
#include <assay/session.h>

#endif
