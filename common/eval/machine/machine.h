/* How km-run tells the stand-in runtime what it was asked for: by the environment of the program that it starts. */
#ifndef EVAL_MACHINE_MACHINE_H
#define EVAL_MACHINE_MACHINE_H

#define MACHINE_PROFILE "KM_RUN_PROFILE"	/* path of a GPU profile; must be set */
#define MACHINE_CHECKS "KM_RUN_CHECKS"		/* letters: i initcheck, r racecheck */
#define MACHINE_BUDGET "KM_RUN_BUDGET"		/* lane instructions a launch may take */
#define MACHINE_SCHEDULE "KM_RUN_SCHEDULE"	/* seed of the order of blocks and warps */
#define MACHINE_TRACE "KM_RUN_TRACE"		/* a line for each launch */
#define MACHINE_QUIET "KM_RUN_QUIET"		/* no note that times are made up */
#define MACHINE_ERROR_EXIT "KM_RUN_ERROR_EXIT"	/* exit status of a program with findings */

#endif
