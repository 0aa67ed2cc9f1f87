// One include for everything public.
#pragma once

#include "octet/device.h"
#include "octet/error.h"
#include "octet/explain.h"
#include "octet/layout.h"
#include "octet/model.h"
#include "octet/plan.h"
#include "octet/plan_facts.h"
#include "octet/plan_run.h"
#include "octet/problem.h"
#include "octet/recipe.h"
#include "octet/reference.h"
#include "octet/runtime.h"
#include "octet/spec.h"
