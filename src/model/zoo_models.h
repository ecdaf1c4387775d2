/* model/zoo_models.h - the builders of the zoo, for the table in zoo.c alone.
 * Each fills a builder from the values of its keys, in the order of the enum beside it. */
#ifndef AS_MODEL_ZOO_MODELS_H
#define AS_MODEL_ZOO_MODELS_H

#include "model/build_layers.h"

typedef void (*as_zoo_build)(struct as_builder *b, const int64_t *values, int64_t batch);

/* Images: keys are classes and size. */
enum { AS_CNN_CLASSES, AS_CNN_SIZE };
void as_zoo_alexnet(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_vgg16(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_vgg19(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_resnet18(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_resnet34(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_resnet50(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_mobilenet_v2(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_squeezenet1_1(struct as_builder *b, const int64_t *values, int64_t batch);

/* "input" of batch x 3 x size x size, the batch open when it is 0. */
uint32_t as_zoo_image(struct as_builder *b, int64_t batch, int64_t size);

#endif
